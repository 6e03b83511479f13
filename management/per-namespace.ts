/** Namespaces that are remembered: any caller may name one. */
const MOST = 1_000;

/** Makes each namespace's own once: what has connections and copies outlives a request. Of too many the oldest is closed. */
export function perNamespace<T extends { close(): Promise<void> }>(
  make: (namespace: string) => T,
): (namespace: string) => T {
  const made = new Map<string, T>();
  return (namespace) => {
    const known = made.get(namespace) ?? make(namespace);
    made.delete(namespace);
    made.set(namespace, known);
    const [oldest] = made;
    if (made.size > MOST && oldest) {
      made.delete(oldest[0]);
      oldest[1].close().catch(() => undefined);
    }
    return known;
  };
}
