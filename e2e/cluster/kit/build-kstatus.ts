import { join } from 'node:path';
import { run } from '../run-program.ts';
import { findGo } from './build-programs.ts';

const MINUTES = 60_000;

/**
 * Builds the program that prints the kstatus of objects, to this path. The Kubernetes build has already compiled most
 * of it.
 */
export async function buildKstatus(program: string): Promise<void> {
  const env = { CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '' };
  const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', program, '.'];
  await run(await findGo(), args, { cwd: join(import.meta.dirname, 'kstatus'), env, deadline: 5 * MINUTES });
}
