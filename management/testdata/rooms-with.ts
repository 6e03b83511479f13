import type { Rooms } from '../rooms.ts';

/** Returns partial services; an operation that uses a missing one fails and names it. */
export function roomsWith(some: Partial<Rooms>): Rooms {
  return new Proxy(some, {
    get(target, name) {
      if (name in target) return target[name as keyof Rooms];
      throw new Error(`this test has no room "${String(name)}"`);
    },
  }) as Rooms;
}
