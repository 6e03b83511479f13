import { Waiting } from '../errors.ts';
import type { LocalFacts, Manifest, World } from '../world.ts';
import { runtimeNameOf } from './object-parts.ts';
import { ownValue } from './own-value.ts';

/** Milliseconds until a port that is taken is looked at again: no event tells when it becomes free. */
const PORT_AGAIN = 2000;

/** Throws `Waiting` where another resource of the folder has the port of this program. */
export function checkProgramPort(name: string, { portConflicts }: LocalFacts): void {
  const conflict = portConflicts && ownValue(portConflicts.programs, name);
  if (conflict !== undefined) throw new Waiting('PortInUse', conflict, { retryIn: PORT_AGAIN });
}

/** Throws `Waiting` where another resource of the folder has the port of this endpoint. */
export function checkEndpointPort(manifest: Manifest, { platform }: World): void {
  if (platform.mode !== 'local' || !platform.portConflicts) return;
  const conflict = ownValue(platform.portConflicts.runtimes, runtimeNameOf(manifest));
  if (conflict !== undefined) throw new Waiting('PortInUse', conflict, { retryIn: PORT_AGAIN });
}
