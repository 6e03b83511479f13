import type { TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { referencesOf, writeUid, type UserEntity } from '#crds/policy/entities';

/** Keeps entities that are reachable from the request and the policies. The others would only cost time. */
export function findReachable(
  start: readonly UserEntity[],
  literals: readonly TypeAndId[],
  own: ReadonlyMap<string, UserEntity>,
): UserEntity[] {
  if (own.size === 0) return [];
  const seen = new Set(start.map(({ uid }) => writeUid(uid)));
  const found: UserEntity[] = [];
  const waiting = [...start.flatMap((entity) => [...referencesOf(entity)]), ...literals];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const name = writeUid(next);
    const entity = own.get(name);
    if (seen.has(name) || entity === undefined) continue;
    seen.add(name);
    found.push(entity);
    waiting.push(...referencesOf(entity));
  }
  return found;
}
