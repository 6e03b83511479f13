import { existsSync } from 'node:fs';
import type { ContainerEngine } from '#operator/snapshot';

/** File that exists only with control groups version 2. */
const CONTROLLERS = '/sys/fs/cgroup/cgroup.controllers';

/**
 * Reports whether an engine ignores limits of memory and CPU, with no more than a warning on standard error: rootless podman with control
 * groups version 1. `user` is a system user id, undefined when the system has none.
 */
export function ignoresLimits(
  engine: ContainerEngine | undefined,
  { user = process.getuid?.(), controllers = CONTROLLERS } = {},
): boolean {
  return engine === 'podman' && user !== undefined && user !== 0 && !existsSync(controllers);
}
