import { randomUUID } from 'node:crypto';
import type { Log } from '#lib/log/log';
import { type Clock, systemClock } from '#operator/queue';
import { ApiError } from '../api/api-error.ts';
import { KubeApi } from '../api/api.ts';
import { connect, loadKubeConfig } from '../api/connection.ts';
import type { OwnerReference, ObjectKey } from '../api/object.ts';
import { childResource } from '../api/resources.ts';
import type { Flags } from './flags.ts';
import { lead } from './lead.ts';
import { holdLease, type Lease } from './lease.ts';
import { createOperatorMetrics, type OperatorMetrics } from './metrics.ts';
import { KubernetesPlatform } from '../platform.ts';
import { serveHealth, serveMetrics } from './serve-health.ts';
import { startWebhook } from '../webhook/start-webhook.ts';

export interface OperatorDeps {
  version: string;
  log: Log;
  /** Name of this pod or machine. */
  host: string;
  /** Namespace of this pod; undefined outside of a cluster. */
  podNamespace?: string | undefined;
  stop: AbortSignal;
}

/** Monotonic, unlike the time of day. */
const steadyClock: Clock = { ...systemClock, now: () => performance.now() };

/** Reconciles with the Lease; serves the webhook without it. Returns 0 after a stop, 1 after a lost Lease. Rejects if it cannot start. */
export async function runOperator(flags: Flags, deps: OperatorDeps): Promise<number> {
  const { version, log, stop } = deps;
  const metrics = createOperatorMetrics(version);
  const api = new KubeApi(connect(loadKubeConfig(flags)), metrics.requested);
  const open: { close(): Promise<unknown> }[] = [api];
  try {
    const platform = openPlatform(api, metrics, flags, deps);
    open.push(platform);
    const health = await serveHealth(flags, () => (platform.hasSynced ? undefined : 'not all resources are read yet'));
    open.push(health);
    const exposed = await serveMetrics(flags, metrics);
    open.push(exposed);
    log.info('the operator starts', { version, healthPort: health.port, metricsPort: exposed.port });
    platform.start();
    if (flags.webhookPort !== undefined) open.push(openWebhook(api, platform, flags.webhookPort, flags, deps));
    await Promise.race([platform.synced(), untilAborted(stop)]);
    log.info('all resources are read');
    const lease = flags.leaderElection ? await openLease(api, flags, deps) : undefined;
    const stopped = await lead(platform, { ...flags, lease, metrics, log, stop });
    return stopped ? 0 : 1;
  } finally {
    for (const each of open.reverse()) await each.close();
  }
}

function openPlatform(api: KubeApi, metrics: OperatorMetrics, flags: Flags, deps: OperatorDeps): KubernetesPlatform {
  return new KubernetesPlatform({
    api,
    log: deps.log,
    clock: systemClock,
    apiGroup: flags.apiGroup,
    namespaces: flags.watchNamespace.length > 0 ? flags.watchNamespace : undefined,
    operatorNamespace: deps.podNamespace,
    instance: deps.host,
    runtimeImage: flags.runtimeImage,
    allowHostPaths: flags.allowHostPaths,
    stdioAttach: flags.stdioAttach,
    imagePullSecrets: flags.imagePullSecret,
    scraperNamespaces: flags.scraperNamespace,
    pods: { podAnnotations: flags.podAnnotation, sidecarsOf: flags.sidecarsOf, runtimeEnv: flags.runtimeEnv },
    maxConcurrentRollouts: flags.maxConcurrentRollouts,
    onRestart: (resource, why) => metrics.watchRestarted(resource, why),
  });
}

function openWebhook(
  api: KubeApi,
  platform: KubernetesPlatform,
  port: number,
  { apiGroup, name }: Flags,
  deps: OperatorDeps,
): { close(): Promise<void> } {
  return startWebhook({
    api,
    apiGroup,
    name,
    port,
    namespace: ownNamespace(api, deps),
    observe: (namespace) => platform.observe(namespace),
    log: deps.log,
    onProblem: (problem) => deps.log.warn('the webhook has a problem', { problem }),
  });
}

async function openLease(api: KubeApi, flags: Flags, deps: OperatorDeps): Promise<Lease> {
  const { name, leaderElectionNamespace, leaderElectionId = name } = flags;
  const own = ownNamespace(api, deps);
  const namespace = leaderElectionNamespace ?? own;
  return holdLease({
    api,
    place: { namespace, name: leaderElectionId },
    // The garbage collector treats an owner in another namespace as deleted.
    owner: namespace === own ? await findOwner(api, { namespace, name }) : undefined,
    identity: `${deps.host}_${randomUUID()}`,
    clock: steadyClock,
    timeOfDay: () => Date.now(),
    log: deps.log,
  });
}

function ownNamespace(api: KubeApi, { podNamespace }: OperatorDeps): string {
  return podNamespace ?? api.namespace ?? 'default';
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}

/** Returns the operator's Deployment, with which the cluster removes the operator's objects; undefined outside of a cluster. */
async function findOwner(api: KubeApi, place: Required<ObjectKey>): Promise<OwnerReference | undefined> {
  const [apiVersion, kind] = ['apps/v1', 'Deployment'];
  try {
    const { metadata } = await api.get(childResource({ apiVersion, kind }), place);
    return metadata.uid === undefined ? undefined : { apiVersion, kind, name: metadata.name, uid: metadata.uid };
  } catch (problem) {
    if (problem instanceof ApiError) return undefined;
    throw problem;
  }
}
