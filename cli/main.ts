#!/usr/bin/env node
import { faultOfNode } from './check-node.ts';
import { NAMES_COMMAND } from './completion/name-kinds.ts';

// Who reads the output may stop reading: `vmcp logs | head`.
process.stdout.on('error', () => process.exit(0));

const [command, ...rest] = process.argv.slice(2);
const fault = faultOfNode(process.versions.node);
// The rest is loaded when it is needed: an old Node cannot load it, and names are asked for at each press of the tab key.
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
