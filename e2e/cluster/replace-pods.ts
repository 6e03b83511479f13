import { eventually } from '../local/run-vmcp.ts';
import type { Stage } from './stage.ts';

const REPLACED_WITHIN = 120_000;

/** Returns the sorted names of a VirtualMCPServer's pods, including terminating ones. */
export async function podsOf(stage: Stage, server: string): Promise<string[]> {
  const pods = await stage.list('Pod', `app.kubernetes.io/name=vmcp-runtime,app.kubernetes.io/instance=${server}`);
  return pods.map(({ metadata }) => metadata.name).sort();
}

/** Resolves when a VirtualMCPServer has exactly so many pods, all ready and with its latest template. */
export async function untilSettled(stage: Stage, server: string, replicas: number): Promise<void> {
  await eventually(
    () => podsOf(stage, server),
    (names) => names.length === replicas,
    REPLACED_WITHIN,
  );
  const args = ['-n', stage.namespace.name, 'rollout', 'status', `deployment/vmcp-${server}`, '--timeout=55s'];
  const { code, stderr } = await stage.cluster.kubectl(args);
  if (code !== 0) throw new Error(`vmcp-${server}: ${stderr}`);
}

/**
 * Restarts a VirtualMCPServer by its annotation. Resolves when the last of its former pods is gone, and all new ones
 * are ready.
 */
export async function replacePods(stage: Stage, server: string, replicas: number): Promise<void> {
  const before = await podsOf(stage, server);
  const annotations = { 'vmcp.dev/restarted-at': new Date().toISOString() };
  await stage.patch('VirtualMCPServer', server, { metadata: { annotations } });
  await eventually(
    () => podsOf(stage, server),
    (names) => names.length === replicas && !names.some((name) => before.includes(name)),
    REPLACED_WITHIN,
  );
  await untilSettled(stage, server, replicas);
}
