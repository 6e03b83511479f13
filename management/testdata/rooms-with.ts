import type { Rooms } from '../rooms.ts';

/** Some of the rooms; an operation that enters another one fails, and says which. */
export function roomsWith(some: Partial<Rooms>): Rooms {
  return new Proxy(some, {
    get(target, name) {
      if (name in target) return target[name as keyof Rooms];
      throw new Error(`this test has no room "${String(name)}"`);
    },
  }) as Rooms;
}
