import { z } from 'zod';
import { Reference, referencesOf, type UserEntity, valuesIn, writeUid } from './entities.ts';
import type { CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import { cedar } from './cedar.ts';
import { CLIENT, CLAIM, RESOURCE_TYPES, RESERVED_RESOURCE_ATTRIBUTES } from './vocabulary.ts';

/** Cedar reads JSON up to 128 levels. */
const MAX_DEPTH = 32;

const Uid = z.union([Reference, z.strictObject({ __entity: Reference }).transform((escape) => escape.__entity)], {
  error: 'must be {"type": "…", "id": "…"}',
});

const Value: z.ZodType<CedarValueJson> = z.lazy(() =>
  z.union(
    [
      z.string().refine((text) => text.isWellFormed()),
      z.boolean(),
      z.int(),
      z.array(Value),
      z.strictObject({ __entity: Reference }),
      z.record(z.string(), Value),
    ],
    { error: 'must be a string, whole number, boolean, list, record or entity' },
  ),
);

const Attributes = z.record(z.string(), Value);

const Entity = z.strictObject({
  uid: Uid,
  attrs: Attributes.default({}),
  parents: z.array(Uid).default([]),
  tags: Attributes.optional(),
});

const Entities = z.array(Entity);

interface ReadEntities {
  readonly entities: readonly UserEntity[];
  readonly problems: readonly string[];
}

/** Parses `entitiesJson`: Cedar's JSON list of entities, without actions and without the entities that requests add. */
export function readEntities(text: string): ReadEntities {
  const fail = (...problems: string[]): ReadEntities => ({ entities: [], problems });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return fail('entitiesJson is no JSON: write a list of entities such as [{"uid": …, "attrs": {}, "parents": []}]');
  }
  if (depthOf(json) > MAX_DEPTH) return fail(`entitiesJson is nested deeper than ${MAX_DEPTH} levels: flatten it`);
  const parsed = Entities.safeParse(json);
  if (!parsed.success) return fail(...parsed.error.issues.map(describeIssue));
  const entities = parsed.data.map(({ tags, ...entity }) => (tags === undefined ? entity : { ...entity, tags }));
  const problems = [...findRepeated(entities), ...entities.flatMap(checkReserved)];
  if (problems.length > 0) return fail(...problems);
  const tooMuch = checkAncestry(entities);
  if (tooMuch !== undefined) return fail(tooMuch);
  const checked = cedar().checkParseEntities({ entities });
  if (checked.type === 'failure') return fail(...checked.errors.map(({ message }) => `entitiesJson: ${message}`));
  return { entities, problems: [] };
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const place = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');
  return `entitiesJson${place}: ${issue.message}`;
}

function depthOf(json: unknown): number {
  let depth = 0;
  for (let level: unknown[] = [json]; level.length > 0 && depth <= MAX_DEPTH; depth += 1) {
    level = level.flatMap(valuesIn);
  }
  return depth;
}

function findRepeated(entities: readonly UserEntity[]): string[] {
  const seen = new Set<string>();
  return entities.flatMap(({ uid }, index) => {
    const name = writeUid(uid);
    if (seen.has(name)) return [`entitiesJson[${index}]: ${name} stands there twice: merge the two`];
    seen.add(name);
    return [];
  });
}

function checkReserved(entity: UserEntity, index: number): string[] {
  const { uid, attrs } = entity;
  const place = `entitiesJson[${index}]: ${writeUid(uid)}`;
  if (/(^|::)Action$/.test(uid.type)) return [`${place} is an action, and actions are fixed: remove it`];
  const isReserved = (attribute: string): boolean =>
    uid.type === CLIENT
      ? attribute.startsWith(CLAIM)
      : Object.values(RESOURCE_TYPES).includes(uid.type) && RESERVED_RESOURCE_ATTRIBUTES.includes(attribute);
  return Object.keys(attrs).flatMap((attribute) =>
    isReserved(attribute) ? [`${place} sets ${attribute}, which each request sets by itself: use another name`] : [],
  );
}

/** Cedar follows parents recursively and stores all ancestors: a long chain overflows its stack, many wide layers exhaust its memory. */
const MAX_ANCESTORS = 20_000;
const MAX_TYPES = 100;

/** Describes an excess of ancestors that Cedar cannot read safely; undefined if there is none. */
function checkAncestry(entities: readonly UserEntity[]): string | undefined {
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
