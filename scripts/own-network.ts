import { spawnSync } from 'node:child_process';

const DEADLINE_MS = 10_000;
const INTO = ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'] as const;

/**
 * Returns a command prefix that runs a command and its children in a separate network with loopback only. Ports then never collide, and no
 * process sees changes of the machine's links. Undefined if it cannot be created: it requires root on Linux, and iproute2.
 */
export function ownNetwork(): readonly string[] | undefined {
  const [program, ...args] = INTO;
  const { status } = spawnSync(program, [...args, 'true'], { stdio: 'ignore', timeout: DEADLINE_MS });
  return status === 0 ? INTO : undefined;
}
