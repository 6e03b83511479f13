import type { Writable } from 'node:stream';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { type Agreed, keepCertificates } from '#operator/kubernetes/certificates/keep-certificates';
import type { Log } from '#lib/log/log';
import { failureText } from '../problem.ts';
import { limitRate } from '../limit-rate.ts';
import { listen, type Listening } from '../listen.ts';
import { OPERATIONS } from '../operations/table.ts';
import { renderAuditLine, Serving } from '../serving.ts';
import type { Services } from '../services.ts';
import { createRoutes } from '../routes.ts';
import { announceAuthority } from './announce-authority.ts';
import { clusterAuthenticator } from './cluster-authenticator.ts';
import { type ClusterDeps, clusterServices } from './cluster-services.ts';
import { resumeClusterWork } from './resume-cluster-work.ts';

export interface ClusterManagementSettings extends ClusterDeps {
  api: KubeApi;
  streams: KubeApi;
  /** Name of the installation: prefix of Service, Secret and ConfigMap. */
  name: string;
  namespace: string;
  /** Port 0 selects a free one. */
  port: number;
  host: string;
  usualNamespace?: string | undefined;
  /** Namespaces that this API serves; empty: all. */
  watched: readonly string[];
  /** Receives one line for each operation that changes something. */
  audit: Writable;
  onListening: (port: number) => void;
  log?: Log;
  /** Called when the certificate or the port fails; both are retried. */
  onProblem: (problem: unknown) => void;
}

/** Rate per address. A proxy or a node sends the requests of many callers from one address. */
const ADDRESS_RATE = { burst: 2000, perSecond: 500 };
const CALLER_RATE = { burst: 400, perSecond: 100 };
/** Milliseconds for pending answers after a stop. */
const GRACE = 5000;

export interface ClusterManagement {
  isServed(): boolean;
  close(): Promise<void>;
}

/** Serves TLS in every replica once they agree on a certificate, whose authority is in the ConfigMap `<name>-management-ca`. */
export function startClusterManagement(settings: ClusterManagementSettings): ClusterManagement {
  const { api, name, namespace, port, host } = settings;
  const stop = new AbortController();
  const servicesOf = clusterServices(settings);
  const answer = createRoutes(OPERATIONS, servingOf(settings, servicesOf));
  const resumed = resumeClusterWork({ ...settings, servicesOf });
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

function servingOf(settings: ClusterManagementSettings, servicesOf: (namespace: string) => Services): Serving {
  const { api, apiGroup, usualNamespace, watched, audit, onFailure } = settings;
  const now = () => performance.now();
  return new Serving({
    authenticator: clusterAuthenticator({ api, apiGroup, namespace: usualNamespace, watched }),
    servicesOf,
    addresses: limitRate({ ...ADDRESS_RATE, now }),
    callers: limitRate({ ...CALLER_RATE, now }),
    onChange: (change) => void audit.write(renderAuditLine(change, new Date())),
    onFailure: (request, problem) => onFailure(failureText(request, problem)),
  });
}
