import { spawnSync } from 'node:child_process';

const DEADLINE_MS = 10_000;
const INTO = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'] as const;

/**
 * What stands before a command so that it and its children have a network of their own, in which there is nothing but loopback:
 * ports are never another's, and nobody sees links of the machine come and go. Undefined where none can be made: it takes root
 * on Linux, with iproute2.
 */
export function ownNetwork(): readonly string[] | undefined {
  const [program, ...args] = INTO;
  const { status } = spawnSync(program, [...args, 'true'], { stdio: 'ignore', timeout: DEADLINE_MS });
  return status === 0 ? INTO : undefined;
}
