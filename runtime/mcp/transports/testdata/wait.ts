/** Returns whether a process with this id exists. */
export const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const DEADLINE = 60_000;

/** Polls until the condition holds. @throws if it does not hold within a minute */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + DEADLINE; performance.now() < end;) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('never came true');
}
