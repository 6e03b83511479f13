import { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { isStatus } from '#operator/kubernetes/api/api-error';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { PODS } from '#operator/kubernetes/api/resources';
import { backendChild } from '#operator/plan/child-names';
import { Problem } from '../problem.ts';
import { problemOfApi } from '../stores/problem-of-api.ts';
import { linesIn, mergeLines } from './merge-lines.ts';
import type { PodLogs } from './pod-logs.ts';
import type { LogOptions, WorkloadRuntime } from './runtime.ts';

interface ClusterRuntimePlace {
  api: KubeApi;
  apiGroup: string;
  podLogs: PodLogs;
  namespace: string;
}

/** Pods of which those that have begun are found: who may start pods may give many these labels. */
const MOST_LOOKED_AT = 100;
/** Pods whose logs are read at once. */
const MOST_PODS = 20;
const LABEL = 'app.kubernetes.io/name';
/** Pods of a workload: its program's, else those of its own endpoint. */
const PROGRAM = 'mcp-backend';
const ENDPOINT = 'vmcp-proxy';
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/** The pods of one namespace of a cluster. */
export function clusterRuntime(place: ClusterRuntimePlace): WorkloadRuntime {
  return {
    host: '::',
    apiGroup: place.apiGroup,
    hasPaths: false,
    targetHost: (name) => `${backendChild(name)}.${place.namespace}.svc`,
    // The operator counts the pods: nobody needs the right to list them.
    look: () => Promise.resolve(({ status }) => ({ isRunning: (status?.replicas ?? 0) > 0 })),
    logs: (name, options) => logsOf(place, name, options),
  };
}

async function logsOf(
  { api, podLogs, namespace }: ClusterRuntimePlace,
  name: string,
  { lines, follow, who, signal }: LogOptions,
): Promise<AsyncIterable<string>> {
  const names: string[] = [];
  const logs = (await podsOf({ api, namespace }, name)).map((pod) => {
    names.push(pod.metadata.name);
    return { place: { namespace, name: pod.metadata.name }, container: containerOf(pod) };
  });
  const sources = podLogs.read(who, logs, { tailLines: lines, follow, signal });
  const prefixOf = (index: number): string => (names.length === 1 ? '' : `${names[index] ?? ''} | `);
  return mergeLines(sources.map((pieces, index) => withName(prefixOf(index), untilGone(linesIn(pieces)))));
}

/** Pods of which there is a log. @throws Problem `not_found` where there is none */
async function podsOf(
  { api, namespace }: Pick<ClusterRuntimePlace, 'api' | 'namespace'>,
  name: string,
): Promise<KubeObject[]> {
  const labelSelector = `${LABEL} in (${PROGRAM},${ENDPOINT}),app.kubernetes.io/instance=${name}`;
  let found: KubeObject[];
  try {
    found = (await api.list(PODS, { namespace, labelSelector }, { limit: MOST_LOOKED_AT })).items;
  } catch (problem) {
    throw problemOfApi(problem);
  }
  const begun = found.filter(hasBegun);
  const programs = begun.filter(({ metadata }) => metadata.labels?.[LABEL] === PROGRAM);
  const pods = programs.length > 0 ? programs : begun;
  if (pods.length > 0) return pods.slice(0, MOST_PODS);
  throw new Problem('not_found', `there is no log of "${name}" now: it has no pod that has begun`);
}

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

/** A container that waits for its first start has no log. */
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

/** A pod that goes meanwhile has no more lines. */
async function* untilGone(lines: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  try {
    yield* lines;
  } catch (problem) {
    if (!isStatus(problem, 400, 404)) throw problemOfApi(problem);
  }
}
