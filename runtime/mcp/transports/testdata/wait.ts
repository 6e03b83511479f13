/** Whether there is a process of this id. */
export const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const DEADLINE = 60_000;

/** Looks again and again until the condition holds. @throws when it does not within a minute */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + DEADLINE; performance.now() < end;) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('never came true');
}
