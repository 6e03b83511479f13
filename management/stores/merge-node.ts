import { sameValue } from '../same-value.ts';
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

/** Same bound as for reading manifests. */
const MAX_ALIASES = 100;

export function valueOf(node: unknown, document: Document): unknown {
  return isNode(node) ? (node.toJS(document, { maxAliasCount: MAX_ALIASES }) as unknown) : node;
}

export const keyOf = (key: unknown): string => (isScalar(key) ? String(key.value) : String(key));

/** Keeps comments, order and form of unchanged parts. */
export function mergeNode(node: unknown, wanted: unknown, document: Document): unknown {
  if (sameValue(valueOf(node, document), wanted)) return node;
  if (isMap(node) && isMapping(wanted)) return mergeMap(node, wanted, document);
  if (isSeq(node) && Array.isArray(wanted)) return mergeSequence(node, wanted, document);
  return withComments(document.createNode(wanted), node);
}

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keeps a merge key, unless it would add unwanted fields. */
function mergeMap(map: YAMLMap, wanted: Record<string, unknown>, document: Document): YAMLMap {
  map.items = map.items.filter(({ key }) => isMergeKey(key) || Object.hasOwn(wanted, keyOf(key)));
  const brings = () => valueOf(map, document) as Record<string, unknown>;
  if (Object.keys(brings()).some((key) => !Object.hasOwn(wanted, key)))
    map.items = map.items.filter(({ key }) => !isMergeKey(key));
  const present = brings();
  for (const [key, value] of Object.entries(wanted)) {
    const pair = map.items.find((item) => keyOf(item.key) === key);
    if (pair) pair.value = mergeNode(pair.value, value, document);
    else if (!Object.hasOwn(present, key) || !sameValue(present[key], value)) map.add(document.createPair(key, value));
  }
  return map;
}

/** The library represents a merge key as a symbol. */
export function isMergeKey(key: unknown): boolean {
  if (!isScalar(key)) return false;
  return typeof key.value === 'symbol' ? key.value.description === '<<' : key.value === '<<';
}

/** Reuses the nodes of entries with the same value first, then those with the same name. */
function mergeSequence(sequence: YAMLSeq, wanted: unknown[], document: Document): YAMLSeq {
  const left = sequence.items.map((item) => ({ item, value: valueOf(item, document) }));
  const take = (fits: (value: unknown) => boolean): unknown => {
    const found = left.findIndex(({ value }) => fits(value));
    return found < 0 ? undefined : left.splice(found, 1)[0]?.item;
  };
  const same = wanted.map((entry) => take((value) => sameValue(value, entry)));
  sequence.items = wanted.map((entry, index) => {
    const name = nameOf(entry);
    const former = same[index] ?? (name === undefined ? undefined : take((value) => nameOf(value) === name));
    return former === undefined ? document.createNode(entry) : mergeNode(former, entry, document);
  });
  return sequence;
}

function nameOf(entry: unknown): unknown {
  return isMapping(entry) ? (entry.name ?? entry.workload ?? entry.clientId) : undefined;
}

function withComments(made: Node, former: unknown): Node {
  if (!isNode(former)) return made;
  for (const part of ['comment', 'commentBefore', 'spaceBefore'] as const)
    if (former[part] !== undefined) Object.assign(made, { [part]: former[part] });
  if (isScalar(made) && isScalar(former) && typeof made.value === 'string' && isQuoted(former)) made.type = former.type;
  return made;
}

const isQuoted = (node: Scalar): node is Scalar & { type: 'QUOTE_DOUBLE' | 'QUOTE_SINGLE' } =>
  node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';

/** A change of a shared part would also apply elsewhere. */
export function isShared(node: unknown): boolean {
  return isAlias(node) || ((isScalar(node) || isCollection(node)) && node.anchor !== undefined);
}
