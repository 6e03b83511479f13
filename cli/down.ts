import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { endLeftovers } from '#local/children-record';
import { removeNoted } from '#local/containers';
import { readLock } from '#local/lock';
import { isRunning } from '#local/process-identity';
import type { Context } from './context.ts';
import { EXIT_CODES } from './exit-codes.ts';

/** Milliseconds for a clean end. Afterwards `vmcp up` is killed with its children. */
const PATIENCE = 6000;

/** Ends leftover processes of a killed `vmcp up`, too. Idempotent. */
export async function down({ state, out, environment }: Context): Promise<number> {
  const lock = readLock(state);
  if (lock) {
    process.kill(lock.pid, 'SIGTERM');
    const deadline = Date.now() + PATIENCE;
    while (isRunning(lock) && Date.now() < deadline) await sleep(50);
    if (isRunning(lock)) process.kill(lock.pid, 'SIGKILL');
  }
  const left = endLeftovers(state);
  const containers = await removeNoted(state, environment);
  for (const path of [state.lock, state.status, state.run]) rmSync(path, { recursive: true, force: true });
  if (left.length > 0) out.write(`ended what was left: ${left.join(', ')}\n`);
  if (containers > 0) out.write(`removed ${containers} containers that were left\n`);
  out.write(lock ? `stopped (${lock.folder})\n` : 'nothing was running\n');
  return EXIT_CODES.ok;
}
