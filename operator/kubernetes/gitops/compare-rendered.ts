import { OBJECTS } from '#crds/kinds/index';
import { pathText } from '#crds/parts/explain';
import { KINDS } from '#operator/snapshot';
import type { KubeObject } from '../api/object.ts';
import { readText } from '../../yaml-text.ts';

export interface Difference {
  path: string;
  before: unknown;
  after: unknown;
}

export interface Change {
  sign: '+' | '-' | '~';
  /** `Kind namespace/name`. */
  what: string;
  differences: Difference[];
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Returns the entries of a list by name if all names are unique, so that an added entry is one difference. */
function entriesOf(value: object): [string | number, unknown][] {
  if (!Array.isArray(value)) return Object.entries(value);
  const names = value.map((entry: unknown) => (isContainer(entry) && 'name' in entry ? entry.name : undefined));
  const named = names.every((name) => typeof name === 'string') && new Set(names).size === names.length;
  return value.map((entry: unknown, index) => [named ? String(names[index]) : index, entry]);
}

function insideText(path: (string | number)[], value: unknown): unknown {
  if (typeof value !== 'string' || !/\.ya?ml$/.test(String(path.at(-1)))) return value;
  const inside = readText(value);
  return isContainer(inside) ? inside : value;
}

function compare(before: unknown, after: unknown, path: (string | number)[]): Difference[] {
  const [old, current] = [insideText(path, before), insideText(path, after)];
  if (isContainer(old) && isContainer(current) && Array.isArray(old) === Array.isArray(current)) {
    const [former, present] = [new Map(entriesOf(old)), new Map(entriesOf(current))];
    const keys = new Set([...former.keys(), ...present.keys()]);
    return [...keys].flatMap((key) => compare(former.get(key), present.get(key), [...path, key]));
  }
  return JSON.stringify(old) === JSON.stringify(current) ? [] : [{ path: pathText(path), before: old, after: current }];
}

/** Fills in defaults, so that an explicit default is no difference. */
function withDefaults(object: KubeObject): KubeObject {
  const kind = KINDS.find((one) => one === object.kind);
  const read = kind && OBJECTS[kind].safeParse({ ...object, status: undefined });
  return read?.success === true ? { ...object, spec: read.data.spec } : object;
}

function contentOf(object: KubeObject): KubeObject {
  const { metadata, ...rest } = withDefaults(object);
  const { name, namespace, labels, annotations } = metadata;
  const written = Object.entries(annotations ?? {}).filter(([key]) => key !== LAST_APPLIED);
  return {
    ...rest,
    status: undefined,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(Object.keys(labels ?? {}).length > 0 && { labels }),
      ...(written.length > 0 && { annotations: Object.fromEntries(written) }),
    },
  };
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

const idOf = ({ kind, metadata: { namespace = '', name } }: KubeObject) => `${kind} ${namespace}/${name}`;

/** Returns the differences between two lists of objects: those of the second list in its order, then those only in the first. */
export function compareObjects(before: readonly KubeObject[], after: readonly KubeObject[]): Change[] {
  const former = new Map(before.map((object) => [idOf(object), object]));
  const present = new Set(after.map(idOf));
  const changes = after.flatMap((object): Change[] => {
    const what = idOf(object);
    const old = former.get(what);
    if (!old) return [{ sign: '+', what, differences: [] }];
    const differences = compare(contentOf(old), contentOf(object), []);
    return differences.length === 0 ? [] : [{ sign: '~', what, differences }];
  });
  const gone = before.map(idOf).filter((what) => !present.has(what));
  return [...changes, ...gone.map((what): Change => ({ sign: '-', what, differences: [] }))];
}
