import { Waiting } from '../errors.ts';
import type { LocalFacts, Manifest, World } from '../world.ts';
import { runtimeNameOf } from './object-parts.ts';
import { ownValue } from './own-value.ts';
import type { BackendFinding } from './finding.ts';

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

/**
 * Returns why a program of this machine is not called: credentials go to no port that another program may have. Undefined where the
 * program was started on the port of this URL.
 */
export function findProgramProblem(
  name: string,
  url: string,
  { platform }: Pick<World, 'platform'>,
): Waiting | undefined {
  if (platform.mode !== 'local' || !platform.programs) return undefined;
  const program = ownValue(platform.programs, name);
  const retry = { retryIn: PORT_AGAIN };
  if (program?.problem) return new Waiting(program.problem.reason, program.problem.message, retry);
  if (program?.port === Number(new URL(url).port)) return undefined;
  return new Waiting(
    'ProgramNotStarted',
    `its program is not started yet: see the conditions of MCPServer "${name}"`,
    retry,
  );
}

/** Throws `Waiting` where the start of a program was not tried yet: a new runtime then finds its backends at its first look. */
export function awaitPrograms(findings: readonly BackendFinding[], { platform }: Pick<World, 'platform'>): void {
  const programs = platform.mode === 'local' ? platform.programs : undefined;
  if (!programs) return;
  const awaited = findings.filter(
    (one) => 'excluded' in one && one.excluded.reason === 'ProgramNotStarted' && !ownValue(programs, one.name),
  );
  if (awaited.length === 0) return;
  const named = awaited.map(({ name }) => `"${name}"`).join(', ');
  const message = `the program of MCPServer ${named} is not started yet: see the conditions of that resource`;
  throw new Waiting('ProgramNotStarted', message, { retryIn: PORT_AGAIN });
}
