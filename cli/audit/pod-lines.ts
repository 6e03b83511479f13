import type { AuditLine } from '#crds/parts/audit-line';
import { KubeApi } from '#operator/kubernetes/api/api';
import { readPodLog } from '#operator/kubernetes/api/read-pod-log';
import { PODS } from '#operator/kubernetes/api/resources';
import { RUNTIMES } from '#operator/plan/object-parts';
import { connectCluster, explainFailure } from '../management/connect-cluster.ts';
import type { ServerOptions } from '../management/target.ts';
import type { AuditSource } from './audit-source.ts';
import { auditLines } from './local-lines.ts';
import { mergeByTime } from './merge-by-time.ts';
import { splitLines } from './read-log-lines.ts';

const CONTAINER = 'vmcp';
const RUNTIME_PODS = `app.kubernetes.io/name in (${RUNTIMES.join(',')})`;

interface Selection {
  follow: boolean;
  /** Milliseconds of the epoch. */
  since: number;
  signal: AbortSignal;
}

/** Reads the logs of the runtime pods of a namespace, with the rights of the kubeconfig. Calls `read`, and closes all connections. */
export async function withPods<T>(
  options: ServerOptions,
  stop: AbortSignal,
  read: (source: AuditSource) => Promise<T>,
): Promise<T> {
  const connection = connectCluster(options);
  const api = new KubeApi(connection);
  const namespace = options.namespace ?? api.namespace ?? 'default';
  let until = 0;
  const podLines = async (selection: Selection) => {
    const pods = await api.list(PODS, { namespace, labelSelector: RUNTIME_PODS });
    return pods.items.map(({ metadata: { name } }) => linesOf(api, { namespace, name }, selection));
  };
  try {
    return await read({
      async *past(since) {
        until = Date.now();
        yield* mergeByTime(await podLines({ follow: false, since, signal: stop }));
      },
      async *following(signal) {
        yield* interleave(await podLines({ follow: true, since: until, signal }));
      },
    });
  } catch (problem) {
    throw explainFailure(problem, { server: connection.server, namespace });
  } finally {
    await api.close();
  }
}

/** The API server counts in seconds, so lines before `since` are dropped here. */
async function* linesOf(
  api: KubeApi,
  place: { namespace: string; name: string },
  { follow, since, signal }: Selection,
): AsyncGenerator<AuditLine, void, void> {
  const sinceTime = `${new Date(since).toISOString().slice(0, 19)}Z`;
  const pieces = readPodLog(api, place, { container: CONTAINER, sinceTime, follow, signal });
  for await (const line of auditLines(splitLines(decode(pieces)))) if (Date.parse(line.logged_at) >= since) yield line;
}

async function* decode(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  for await (const piece of pieces) yield decoder.decode(piece, { stream: true });
}

/** Yields the lines of all sources as they come. */
async function* interleave(sources: AsyncGenerator<AuditLine, void, void>[]): AsyncGenerator<AuditLine, void, void> {
  const advance = async (source: AsyncGenerator<AuditLine, void, void>) => ({ source, step: await source.next() });
  const waiting = new Map(sources.map((source) => [source, advance(source)]));
  while (waiting.size > 0) {
    const { source, step } = await Promise.race(waiting.values());
    waiting.delete(source);
    if (step.done === true) continue;
    yield step.value;
    waiting.set(source, advance(source));
  }
}
