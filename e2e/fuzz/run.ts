// Fuzzes what reads bytes of strangers, for a bounded time: node e2e/fuzz/run.ts [seconds for each target] [seed]
import { targets } from './targets.ts';

const seconds = Number(process.argv[2] ?? 10);
const seed = Number(process.argv[3] ?? Date.now() % 2_147_483_647);

console.log(`seed ${seed}, ${seconds} s for each of ${Object.keys(targets).length} targets`);
for (const [name, fuzz] of Object.entries(targets)) {
  const { inputs, failure } = fuzz({ seed, milliseconds: seconds * 1000 });
  console.log(`${failure === undefined ? 'passed' : 'FAILED'} ${name}: ${inputs} inputs`);
  if (failure === undefined) continue;
  process.exitCode = 1;
  console.log(failure);
}
