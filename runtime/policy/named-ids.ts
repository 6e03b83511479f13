import { referencesOf, type UserEntity } from '#crds/policy/entities';
import type { ParsedPolicy } from '#crds/policy/parse';

/** Cedar compares entities only by uid and cannot read it as text, so policies distinguish no two entities without one of these ids. */
export function findNamedIds(policies: readonly ParsedPolicy[], entities: readonly UserEntity[]): ReadonlySet<string> {
  const ids = new Set(entities.flatMap((entity) => [...referencesOf(entity)].map(({ id }) => id)));
  for (const { json } of policies) collectIds(json, ids);
  return ids;
}

function collectIds(json: unknown, ids: Set<string>): void {
  if (typeof json !== 'object' || json === null) return;
  if ('id' in json && typeof json.id === 'string') ids.add(json.id);
  for (const inner of Object.values(json)) collectIds(inner, ids);
}
