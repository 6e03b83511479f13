#!/usr/bin/env node
import { NAMES_COMMAND } from './completion/name-kinds.ts';
import { printNames } from './completion/print-names.ts';

// Who reads the output may stop reading: `vmcp logs | head`.
process.stdout.on('error', () => process.exit(0));

const [command, ...rest] = process.argv.slice(2);
if (command === NAMES_COMMAND) {
  await printNames(rest, process.stdout);
} else {
  // Loaded when it is needed: names are asked for at each press of the tab key.
  const { start } = await import('./start.ts');
  process.exitCode = await start(process.argv.slice(2), process.env, import.meta.url);
}
