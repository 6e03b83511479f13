/** Bounded cache of values by key. It evicts entries without recent use first, in two generations. */
interface Memory<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  /** Number of entries; at most twice half the capacity, rounded up. */
  readonly size: number;
}

/** @param capacity limit of values; 0 caches nothing */
export function createMemory<T>(capacity: number): Memory<T> {
  const generation = Math.ceil(capacity / 2);
  let recent = new Map<string, T>();
  let older = new Map<string, T>();
  const set = (key: string, value: T): void => {
    if (generation === 0) return;
    if (recent.size >= generation && !recent.has(key)) {
      older = recent;
      recent = new Map();
    }
    recent.set(key, value);
  };
  return {
    get: (key) => {
      const value = recent.get(key);
      if (value !== undefined) return value;
      const aged = older.get(key);
      if (aged !== undefined) {
        older.delete(key);
        set(key, aged);
      }
      return aged;
    },
    set,
    get size() {
      return recent.size + older.size;
    },
  };
}
