import { type SchemaNode, leavesOf, nodesOf } from '#crds/generate/schema-node';
import { jsonSchemaOf } from '#crds/generate/structural';
import { RunConfig } from '#crds/run-config/run-config';

const SCHEMA = jsonSchemaOf(RunConfig);
const isUnion = ({ anyOf, oneOf, allOf }: SchemaNode) => (anyOf ?? oneOf ?? allOf) !== undefined;
const isMap = ({ additionalProperties }: SchemaNode) => typeof additionalProperties === 'object';

/** Paths of the fields of a run configuration that hold no other field. */
export const LEAVES: ReadonlySet<string> = new Set(
  [...leavesOf(SCHEMA)].filter(([, node]) => !isUnion(node)).map(([path]) => path),
);
const MAPS = new Set([...nodesOf(SCHEMA)].filter(([, node]) => isMap(node)).map(([path]) => path));

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isOwn = (value: object, key: string | symbol): key is string =>
  typeof key === 'string' && Object.hasOwn(value, key) && !(Array.isArray(value) && key === 'length');

function below(value: object, path: string, name: string): string {
  if (Array.isArray(value)) return `${path}[]`;
  if (MAPS.has(path)) return `${path}{}`;
  return path === '' ? name : `${path}.${name}`;
}

/** Yields the leaves that a document writes. */
export function* leavesIn(value: unknown, path = ''): Generator<string> {
  if (LEAVES.has(path)) yield path;
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) yield* leavesIn(inner, below(value, path, name));
}

/** Code that checks every value and acts on none. */
const CHECKS = /\/(runtime\/list-files|crds\/run-config\/find-[a-z-]+)\.ts/;
/** A check may read a value deep inside of its own calls and those of zod. */
const FRAMES = 100;

function isCheck(): boolean {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return CHECKS.test(stack);
}

/**
 * Wraps a configuration and adds the path of each leaf that is read to `reads`. A field that is spread into another object
 * does not count, as the copy hides who reads it. JSON of the configuration and checks of it do not count either.
 */
export function recordReads<T extends object>(value: T, reads: Set<string>, path = ''): T {
  const inside = new Map<string, object>();
  const spread = new Set<string | symbol>();
  const isField = !Array.isArray(value) && !MAPS.has(path);
  const innerOf = (key: string, found: object, at: string) => {
    const inner = inside.get(key) ?? recordReads(found, reads, at);
    inside.set(key, inner);
    return inner;
  };
  return new Proxy(value, {
    get(target, key) {
      if (key === 'toJSON') return () => target;
      const found: unknown = Reflect.get(target, key);
      if (!isOwn(target, key)) return found;
      const at = below(target, path, key);
      if (isObject(found) && !LEAVES.has(at)) return innerOf(key, found, at);
      const isCopied = spread.delete(key) && isField;
      if (!isCopied && !reads.has(at) && !isCheck()) reads.add(at);
      return found;
    },
    getOwnPropertyDescriptor(target, key) {
      spread.add(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
}
