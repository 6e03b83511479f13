import { renameSync, writeFileSync } from 'node:fs';

// Node loads this module before the server under test. On SIGUSR2 it collects garbage and writes the remaining memory.
const file = process.env.BENCH_MEMORY_FILE ?? '';
process.on('SIGUSR2', () => {
  for (let turn = 0; turn < 3; turn += 1) globalThis.gc?.();
  writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()));
  renameSync(`${file}.new`, file);
});
