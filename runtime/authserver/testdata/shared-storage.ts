import { createMemoryStorage } from '../storage/memory.ts';
import type { AuthStorage } from '../storage/storage.ts';

/** Returns a storage for several servers of one process, which treat it as a Redis that replicas share. */
export function createSharedStorage(now: () => number): AuthStorage {
  return new Proxy(createMemoryStorage({ now }), {
    get(target, name) {
      const member: unknown = name === 'kind' ? 'redis' : Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
