import { z } from 'zod';
import { runProgram } from '../run-program.ts';
import { findGo } from './build-programs.ts';

const MINUTES = 60_000;
const Module = z.object({ Dir: z.string() });

/** Returns the folder of a Go module, `path@version`, from the module proxy. Go caches it between runs. */
export async function fetchModule(module: string): Promise<string> {
  const go = await findGo();
  const { stdout, stderr } = await runProgram(go, ['mod', 'download', '-json', module], { deadline: 5 * MINUTES });
  const read = Module.safeParse(JSON.parse(stdout || '{}'));
  if (!read.success) throw new Error(`go mod download ${module}: ${stderr || stdout}`);
  return read.data.Dir;
}
