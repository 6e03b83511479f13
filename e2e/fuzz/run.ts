// Fuzzes the parsers of untrusted bytes for a bounded time: node e2e/fuzz/run.ts [seconds for each target] [seed]
import { targets } from './targets.ts';

const seconds = Number(process.argv[2] ?? 10);
const seed = Number(process.argv[3] ?? Date.now() % 2_147_483_647);

console.log(`seed ${seed}, ${seconds} s for each of ${Object.keys(targets).length} targets`);
const counts = { passed: 0, failed: 0 };
for (const [name, fuzz] of Object.entries(targets)) {
  const { inputs, failure } = fuzz({ seed, milliseconds: seconds * 1000 });
  console.log(`${failure === undefined ? '✓' : '✗'} ${name}: ${inputs} inputs`);
  counts[failure === undefined ? 'passed' : 'failed']++;
  if (failure !== undefined) console.log(failure);
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
process.exitCode = counts.failed === 0 ? 0 : 1;
