import { referencesOf, type UserEntity } from '#crds/policy/entities';
import type { ParsedPolicy } from '#crds/policy/parse';

/**
 * Returns the id of every entity of any type that policies or user entities name. Cedar compares entities only by uid and cannot read a
 * uid as text. Policies therefore cannot distinguish two callers, groups, resources or backends without one of these ids.
 */
export function findNamedIds(policies: readonly ParsedPolicy[], entities: readonly UserEntity[]): ReadonlySet<string> {
  const ids = new Set(entities.flatMap((entity) => [...referencesOf(entity)].map(({ id }) => id)));
  for (const { json } of policies) collectIds(json, ids);
  return ids;
}

/** Adds the id of every entity in a policy's JSON form, at any depth. */
function collectIds(json: unknown, ids: Set<string>): void {
  if (typeof json !== 'object' || json === null) return;
  if ('id' in json && typeof json.id === 'string') ids.add(json.id);
  for (const inner of Object.values(json)) collectIds(inner, ids);
}
