import { existsSync } from 'node:fs';
import type { ContainerEngine } from '#operator/world';

/** What every machine has whose control groups are of version 2. */
const CONTROLLERS = '/sys/fs/cgroup/cgroup.controllers';

/**
 * Whether an engine ignores limits of memory and CPU, and only says so on standard error: podman for a user without rights, where control
 * groups are of version 1. `user` is a number of the system, undefined where it has none.
 */
export function ignoresLimits(
  engine: ContainerEngine | undefined,
  { user = process.getuid?.(), controllers = CONTROLLERS } = {},
): boolean {
  return engine === 'podman' && user !== undefined && user !== 0 && !existsSync(controllers);
}
