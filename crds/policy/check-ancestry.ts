import { referencesOf, writeUid, type UserEntity } from './entities.ts';

/** Cedar follows parents recursively and stores all ancestors: a long chain overflows its stack, many wide layers exhaust its memory. */
const MAX_ANCESTORS = 20_000;
const MAX_TYPES = 100;

/** Describes an excess of ancestors that Cedar cannot read safely; undefined if there is none. */
export function checkAncestry(entities: readonly UserEntity[]): string | undefined {
  const types = new Set(entities.flatMap((entity) => [...referencesOf(entity)].map(({ type }) => type)));
  if (types.size > MAX_TYPES) {
    return `entitiesJson has ${types.size} types of entities, at most ${MAX_TYPES} are read: use fewer`;
  }
  const parents = new Map(entities.map((entity) => [writeUid(entity.uid), entity.parents.map(writeUid)]));
  let left = MAX_ANCESTORS;
  for (const start of parents.keys()) {
    left -= countAncestors(start, parents, left);
    if (left < 0) {
      return `entitiesJson has entities with more than ${MAX_ANCESTORS} parents, and parents of those, together: flatten it`;
    }
  }
  return undefined;
}

function countAncestors(start: string, parents: ReadonlyMap<string, readonly string[]>, limit: number): number {
  const seen = new Set<string>();
  const waiting = [...(parents.get(start) ?? [])];
  for (let next = waiting.pop(); next !== undefined && seen.size <= limit; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    waiting.push(...(parents.get(next) ?? []));
  }
  return seen.size;
}
