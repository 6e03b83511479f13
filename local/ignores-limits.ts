import { existsSync } from 'node:fs';
import type { ContainerEngine } from '#operator/snapshot';

/** Exists only with control groups version 2. */
const CONTROLLERS = '/sys/fs/cgroup/cgroup.controllers';

/** Rootless podman with control groups version 1 only warns on standard error. `user`: undefined when the system has no ids. */
export function ignoresLimits(
  engine: ContainerEngine | undefined,
  { user = process.getuid?.(), controllers = CONTROLLERS } = {},
): boolean {
  return engine === 'podman' && user !== undefined && user !== 0 && !existsSync(controllers);
}
