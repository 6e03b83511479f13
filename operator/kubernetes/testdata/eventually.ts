/** Resolves when a condition is true. Throws if it is not within two seconds. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  const until = Date.now() + 2000;
  while (!condition()) {
    if (Date.now() > until) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
