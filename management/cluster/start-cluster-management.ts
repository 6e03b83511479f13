import type { Writable } from 'node:stream';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { type Agreed, keepCertificates } from '#operator/kubernetes/certificates/keep-certificates';
import type { Log } from '#lib/log/log';
import { failureText } from '../failure-text.ts';
import { limitRate } from '../limit-rate.ts';
import { listen, type Listening } from '../listen.ts';
import { OPERATIONS } from '../operations/table.ts';
import { renderAuditLine } from '../render-audit-line.ts';
import type { Rooms } from '../rooms.ts';
import { createRoutes } from '../routes.ts';
import { Serving } from '../serving.ts';
import { announceAuthority } from './announce-authority.ts';
import { clusterAuthority } from './cluster-authority.ts';
import type { ClusterPlace } from './cluster-place.ts';
import { clusterRooms } from './cluster-rooms.ts';
import { resumeClusterWork } from './resume-cluster-work.ts';

export interface ClusterManagementSettings extends ClusterPlace {
  /** Connections of this API alone, which closes them. */
  api: KubeApi;
  streams: KubeApi;
  /** Name of the installation: the first part of Service, Secret and ConfigMap. */
  name: string;
  /** Namespace of the operator. */
  namespace: string;
  /** Port and address that are listened on; 0 takes a free port. */
  port: number;
  host: string;
  /** Namespace that is meant where a request names none. */
  usualNamespace?: string | undefined;
  /** Namespaces that the operator works for; empty: all. */
  watched: readonly string[];
  /** One line for each operation that changes something. */
  audit: Writable;
  /** Told of the port once it is listened on. */
  onListening: (port: number) => void;
  log?: Log;
  /** Told of what went wrong with certificate or port. It is tried again. */
  onProblem: (problem: unknown) => void;
}

/** Many callers come by one address: that of a proxy, or of a node. */
const ADDRESS_RATE = { burst: 2000, perSecond: 500 };
const CALLER_RATE = { burst: 400, perSecond: 100 };
/** Answers under way have so long when the operator ends. Milliseconds. */
const GRACE = 5000;

export interface ClusterManagement {
  /** It answers. */
  isServed(): boolean;
  close(): Promise<void>;
}

/**
 * Serves the management API of a cluster by TLS, in every operator whether it leads or not. Returns at once; it answers as soon as the
 * operators agree on a certificate, whose authority stands in the ConfigMap `<name>-management-ca`.
 */
export function startClusterManagement(settings: ClusterManagementSettings): ClusterManagement {
  const { api, name, namespace, port, host } = settings;
  const stop = new AbortController();
  const roomsOf = clusterRooms(settings);
  const answer = createRoutes(OPERATIONS, servingOf(settings, roomsOf));
  const resumed = resumeClusterWork({ ...settings, roomsOf });
  let listening: Listening | undefined;
  const serve = async (pair: Agreed) => {
    if (listening) {
      listening.use(pair);
      return;
    }
    listening = await listen(answer, { host, port, pair });
    settings.onListening(listening.port);
  };
  const service = `${name}-management`;
  const kept = keepCertificates(
    {
      api,
      namespace,
      secretName: service,
      serverNames: ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].map(
        (domain) => service + domain,
      ),
      announce: ({ authorities }) => announceAuthority(authorities, { api, namespace, name: `${service}-ca` }),
      now: () => Date.now(),
      ...(settings.log && { log: settings.log }),
    },
    serve,
    settings.onProblem,
    stop.signal,
  );
  return {
    isServed: () => listening !== undefined,
    async close() {
      stop.abort();
      await kept;
      await listening?.close(GRACE);
      await resumed;
      await settings.streams.close();
      await api.close();
    },
  };
}

function servingOf(settings: ClusterManagementSettings, roomsOf: (namespace: string) => Rooms): Serving {
  const { api, apiGroup, usualNamespace, watched, audit, onFailure } = settings;
  const now = () => performance.now();
  return new Serving({
    authority: clusterAuthority({ api, apiGroup, namespace: usualNamespace, watched }),
    roomsOf,
    addresses: limitRate({ ...ADDRESS_RATE, now }),
    callers: limitRate({ ...CALLER_RATE, now }),
    onChange: (change) => void audit.write(renderAuditLine(change, new Date())),
    onFailure: (request, problem) => onFailure(failureText(request, problem)),
  });
}
