import type { Services } from '../services.ts';

/** Returns partial services; an operation that uses a missing one fails and names it. */
export function servicesWith(some: Partial<Services>): Services {
  return new Proxy(some, {
    get(target, name) {
      if (name in target) return target[name as keyof Services];
      throw new Error(`this test has no service "${String(name)}"`);
    },
  }) as Services;
}
