import { cpSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from '../cluster/run-program.ts';
import { stageNode } from '../cluster/kit/stage-node.ts';

/** Writes the files of the base image, on which the project's images are built and run: Node, npm and a shell of this machine. */
export async function stageBase(root: string): Promise<void> {
  stageNode(root);
  const program = realpathSync((await run('sh', ['-c', 'command -v npm'])).trim());
  const lib = join(root, 'usr/local/lib/node_modules/npm');
  cpSync(dirname(dirname(program)), lib, { recursive: true, dereference: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  symlinkSync('/bin/busybox', join(root, 'usr/bin/env'));
}
