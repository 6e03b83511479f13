#!/usr/bin/env node
import { faultOfNode } from './check-node.ts';
import { NAMES_COMMAND } from './completion/name-kinds.ts';

// The reader may close the pipe early: `vmcp logs | head`.
process.stdout.on('error', () => process.exit(0));

const [command, ...rest] = process.argv.slice(2);
const fault = faultOfNode(process.versions.node);
// The other modules load on demand: an old Node cannot parse them, and completion runs at each press of the tab key.
if (fault !== undefined) {
  process.stderr.write(`${fault}\n`);
  process.exitCode = 5;
} else if (command === NAMES_COMMAND) {
  const { printNames } = await import('./completion/print-names.ts');
  await printNames(rest, process.stdout);
} else {
  const { start } = await import('./start.ts');
  process.exitCode = await start(process.argv.slice(2), process.env, import.meta.url);
}
