export function everyName<T>(entryOf: (name: string) => T | undefined): Record<string, T> {
  return new Proxy<Record<string, T>>(
    {},
    {
      get: (_target, name) => (typeof name === 'string' ? entryOf(name) : undefined),
      has: (_target, name) => typeof name === 'string' && entryOf(name) !== undefined,
      getOwnPropertyDescriptor(_target, name) {
        const value = typeof name === 'string' ? entryOf(name) : undefined;
        return value === undefined ? undefined : { value, enumerable: true, configurable: true, writable: true };
      },
    },
  );
}
