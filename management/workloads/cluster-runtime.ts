import { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { listAll } from '#operator/kubernetes/api/list-all';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { isTooLong } from '#operator/kubernetes/api/read-page';
import { PODS } from '#operator/kubernetes/api/resources';
import { backendChild } from '#operator/plan/child-names';
import { BOUNDS } from '../memory-bounds.ts';
import { Problem } from '../problem.ts';
import type { ListSemaphore } from '../stores/list-semaphore.ts';
import { problemOfApi } from '../stores/problem-of-api.ts';
import { linesIn, mergeLines } from './merge-lines.ts';
import type { PodLogs } from './pod-logs.ts';
import type { LogOptions, WorkloadRuntime } from './runtime.ts';

interface ClusterRuntimeDeps {
  api: KubeApi;
  apiGroup: string;
  podLogs: PodLogs;
  lists: ListSemaphore;
  namespace: string;
}

const LONGEST_LIST = BOUNDS.lists.pods;
const MOST_PODS = 20;
const LABEL = 'app.kubernetes.io/name';
/** Workloads without such a pod have the pods of their endpoint. */
const PROGRAM = 'mcp-backend';
const ENDPOINT = 'vmcp-proxy';
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

export function clusterRuntime(deps: ClusterRuntimeDeps): WorkloadRuntime {
  return {
    host: '::',
    apiGroup: deps.apiGroup,
    hasPaths: false,
    targetHost: (name) => `${backendChild(name)}.${deps.namespace}.svc`,
    // The operator counts the pods, so that callers do not need the right to list them.
    look: () => Promise.resolve(({ status }) => ({ isRunning: (status?.replicas ?? 0) > 0 })),
    logs: (name, options) => logsOf(deps, name, options),
  };
}

async function logsOf(
  { api, podLogs, lists, namespace }: ClusterRuntimeDeps,
  name: string,
  { lines, follow, who, signal }: LogOptions,
): Promise<AsyncIterable<string>> {
  const read = (inTime: AbortSignal) => podsOf({ api, namespace }, name, inTime);
  const pods = await lists.run(namespace, 'the pods with logs', read, signal);
  const logs = pods.map((pod) => ({ place: { namespace, name: pod.name }, container: pod.container }));
  const sources = podLogs.read(who, logs, { tailLines: lines, follow, signal });
  const prefixOf = (index: number): string => (pods.length === 1 ? '' : `${pods[index]?.name ?? ''} | `);
  return mergeLines(sources.map((pieces, index) => withName(prefixOf(index), untilGone(linesIn(pieces)))));
}

interface LoggedPod {
  name: string;
  container: string;
}

/** Returns ended pods only up to the limit. @throws Problem `not_found` when there is none */
async function podsOf(
  { api, namespace }: Pick<ClusterRuntimeDeps, 'api' | 'namespace'>,
  name: string,
  signal: AbortSignal,
): Promise<LoggedPod[]> {
  const labelSelector = `${LABEL} in (${PROGRAM},${ENDPOINT}),app.kubernetes.io/instance=${name}`;
  const begun = { programs: new LoggedPods(), endpoints: new LoggedPods() };
  try {
    for await (const pod of listAll(api, PODS, { namespace, labelSelector }, LONGEST_LIST, { signal })) {
      if (!hasBegun(pod)) continue;
      begun[pod.metadata.labels?.[LABEL] === PROGRAM ? 'programs' : 'endpoints'].add(pod);
    }
  } catch (problem) {
    throw isTooLong(problem) ? tooLong(name) : problemOfApi(problem);
  }
  const programs = begun.programs.first();
  const pods = programs.length > 0 ? programs : begun.endpoints.first();
  if (pods.length > 0) return pods;
  throw new Problem('not_found', `there is no log of "${name}" now: it has no pod that has begun`);
}

function tooLong(name: string): Problem {
  const what = `the pods with the labels of "${name}" are longer than ${LONGEST_LIST} bytes together`;
  return new Problem('unavailable', `${what}, and their logs are not read: delete those that have ended`);
}

class LoggedPods {
  readonly #running: LoggedPod[] = [];
  readonly #ended: LoggedPod[] = [];

  add(pod: KubeObject): void {
    const pods = hasEnded(pod) ? this.#ended : this.#running;
    if (pods.length < MOST_PODS) pods.push({ name: pod.metadata.name, container: containerOf(pod) });
  }

  first(): LoggedPod[] {
    return [...this.#running, ...this.#ended].slice(0, MOST_PODS);
  }
}

const Ended = z.object({ phase: z.enum(['Succeeded', 'Failed']) });

const hasEnded = ({ status }: KubeObject): boolean => Ended.safeParse(status).success;

const Statuses = z.object({
  containerStatuses: z
    .array(
      z.object({
        name: z.string(),
        restartCount: z.int(),
        state: z.object({ waiting: z.unknown().optional() }).optional(),
      }),
    )
    .default([]),
});

/** A container that has never started has no log. */
function hasBegun(pod: KubeObject): boolean {
  const container = containerOf(pod);
  const { data } = Statuses.safeParse(pod.status);
  const status = data?.containerStatuses.find(({ name }) => name === container);
  return status !== undefined && (status.restartCount > 0 || status.state?.waiting === undefined);
}

const Containers = z.object({ containers: z.array(z.object({ name: z.string() })) });

function containerOf({ metadata, spec }: KubeObject): string {
  return metadata.annotations?.[DEFAULT_CONTAINER] ?? Containers.safeParse(spec).data?.containers[0]?.name ?? '';
}

async function* withName(name: string, lines: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  for await (const line of lines) yield name + line;
}

/** Ends the lines when the pod is deleted. */
async function* untilGone(lines: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  try {
    yield* lines;
  } catch (problem) {
    if (!isStatus(problem, 400, 404)) throw problemOfApi(problem);
  }
}
