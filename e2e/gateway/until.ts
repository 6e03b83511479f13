import { setTimeout as sleep } from 'node:timers/promises';

const DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 20;

/**
 * Polls until the condition holds. Errors count as false. `hopeless`: returns true if the condition can never hold.
 * @throws if it does not hold within a minute
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  hopeless: () => boolean = () => false,
): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  let problem: unknown;
  while (performance.now() < deadline && !hopeless()) {
    try {
      if (await holds()) return;
    } catch (error) {
      problem = error;
    }
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`waited in vain for ${what}`, { cause: problem });
}
