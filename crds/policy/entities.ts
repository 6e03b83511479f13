import type { EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { z } from 'zod';

export const Reference = z.strictObject({ type: z.string().min(1), id: z.string() });

/** A user's entity, with its uid and parents in a single form. */
export type UserEntity = EntityJson & { readonly uid: TypeAndId; readonly parents: TypeAndId[] };

export function entityReference(value: unknown): TypeAndId | undefined {
  if (typeof value !== 'object' || value === null || !('__entity' in value)) return undefined;
  const parsed = Reference.safeParse(value.__entity);
  return parsed.success ? parsed.data : undefined;
}

export function writeUid(uid: TypeAndId): string {
  return `${uid.type}::${JSON.stringify(uid.id)}`;
}

/** Yields every entity that one entity names: itself, its parents, and those in its attributes and tags. */
export function* referencesOf(entity: UserEntity): Generator<TypeAndId> {
  yield entity.uid;
  yield* entity.parents;
  for (const value of [...Object.values(entity.attrs), ...Object.values(entity.tags ?? {})]) yield* referencesIn(value);
}

function* referencesIn(value: unknown): Generator<TypeAndId> {
  const reference = entityReference(value);
  if (reference !== undefined) yield reference;
  else for (const inner of valuesIn(value)) yield* referencesIn(inner);
}

export function valuesIn(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}
