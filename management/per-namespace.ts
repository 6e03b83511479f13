/** Maximum number of cached namespaces, as a caller may name any namespace. */
const MOST = 1_000;

/** Connections and copies outlive a request. Above the limit it closes the least recently used object. */
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
