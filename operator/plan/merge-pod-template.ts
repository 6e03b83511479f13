import { Stalled } from '../errors.ts';
import { POD_MERGE_KEYS } from './pod-merge-keys.ts';

// Strategic merge as in the API server: maps are merged, null removes, and lists without a merge key are replaced.

type Fields = Record<string, unknown>;

const isMap = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const PATCH = '$patch';
const RETAIN = '$retainKeys';

/** Keys with a meaning in JavaScript itself, which a merge must not touch. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

function refuse(path: string, what: string): never {
  throw new Stalled('InvalidPodTemplate', `podTemplateSpec.${path}: ${what}`);
}

const below = (path: string, key: string) => (path === '' ? key : `${path}.${key}`);

function directiveOf(patch: Fields, path: string): 'merge' | 'replace' | 'delete' {
  const directive = patch[PATCH] ?? 'merge';
  if (directive === 'merge' || directive === 'replace' || directive === 'delete') return directive;
  return refuse(path, `$patch is ${JSON.stringify(directive)}: write merge, replace or delete`);
}

function plain(value: unknown, path: string): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    return items
      .filter((item) => !isMap(item) || directiveOf(item, path) === 'merge')
      .map((item) => plain(item, `${path}[]`));
  }
  if (!isMap(value)) return value;
  if (directiveOf(value, path) === 'delete') return {};
  return mergeMap({}, value, path);
}

function retained(original: Fields, patch: Fields, path: string): Fields {
  const keys = patch[RETAIN];
  if (keys === undefined) return original;
  if (!Array.isArray(keys)) return refuse(path, '$retainKeys is no list: write the names of fields');
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.includes(key)));
}

function fieldsOf(patch: Fields, path: string): [string, unknown][] {
  return Object.entries(patch).filter(([key]) => {
    if (key === PATCH || key === RETAIN) return false;
    if (key.startsWith('$') || FORBIDDEN.has(key)) refuse(below(path, key), 'is not known here: remove it');
    return true;
  });
}

function mergeMap(original: Fields, patch: Fields, path: string): Fields {
  const directive = directiveOf(patch, path);
  if (directive === 'delete') return {};
  const merged = new Map(Object.entries(directive === 'replace' ? {} : retained(original, patch, path)));
  for (const [key, value] of fieldsOf(patch, path)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergeValue(merged.get(key), value, below(path, key)));
  }
  return Object.fromEntries(merged);
}

function keyOf(item: unknown, key: string, path: string): [Fields, unknown] {
  if (!isMap(item)) return refuse(path, 'an item is no object: write one');
  const value = item[key];
  if (value === undefined || value === null)
    return refuse(path, `an item has no ${key}, by which it is merged: write it`);
  return [item, value];
}

/** Orders two parts of a list: as in the original if it has both, otherwise written items come first. */
function inOrder(left: Fields[], written: Fields[], original: unknown[]): Fields[] {
  const places = new Map(original.map((item, place) => [item, place]));
  const indexOf = (item: Fields) => places.get(item) ?? -1;
  const ordered: Fields[] = [];
  let at = 0;
  for (const next of written) {
    for (let first = left[at]; first && indexOf(first) < indexOf(next); first = left[at]) {
      ordered.push(first);
      at += 1;
    }
    ordered.push(next);
  }
  return [...ordered, ...left.slice(at)];
}

function mergeItems(original: Fields[], patch: unknown[], key: string, path: string): Fields[] {
  if (patch.some((item) => isMap(item) && item[PATCH] === 'replace')) {
    const whole = patch.filter((item) => !isMap(item) || item[PATCH] !== 'replace');
    return plain(whole, path) as Fields[];
  }
  const items = patch.map((one) => keyOf(one, key, path));
  const kept = items.filter(([item]) => directiveOf(item, path) !== 'delete');
  const there = new Map(original.map((item) => [item[key], item]));
  const merged = kept.map(([item, value]) => mergeMap(there.get(value) ?? {}, item, `${path}[]`));
  const values = new Set(items.map(([, value]) => value));
  const left = original.filter((item) => !values.has(item[key]));
  // On duplicate keys, the first item wins.
  const byKey = new Map([...merged].reverse().map((one) => [one[key], one]));
  const order = original.map((item) => byKey.get(item[key]) ?? item);
  return inOrder(left, merged, order);
}

function mergeValue(original: unknown, patch: unknown, path: string): unknown {
  if (isMap(patch)) return isMap(original) ? mergeMap(original, patch, path) : plain(patch, path);
  if (!Array.isArray(patch)) return patch;
  const items: unknown[] = patch;
  const key = POD_MERGE_KEYS[path];
  if (key === undefined || original === undefined || !Array.isArray(original)) {
    return typeof key === 'string' ? mergeItems([], items, key, path) : plain(items, path);
  }
  if (key === null) return [...new Set([...(original as unknown[]), ...items])];
  return mergeItems(original as Fields[], items, key, path);
}

/** Twice the depth of any Kubernetes pod. Deeper values could overflow the stack of a reader. */
const DEEPEST = 40;
const LONGEST = 1000;

function checkSize(written: object): void {
  let level: unknown[] = [written];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) refuse('spec', `is nested deeper than ${DEEPEST} levels: remove what is no field of a pod`);
    const long = level.some((value) => Array.isArray(value) && value.length > LONGEST);
    if (long) refuse('spec', `has a list of more than ${LONGEST} items: shorten it`);
    level = level.flatMap((value): unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
}

/** Merges the written template over the rendered one by the merge keys of the API server. @throws Stalled with the path */
export function mergePodTemplate(rendered: object, written: object): unknown {
  checkSize(written);
  for (const field of Object.keys(written)) {
    if (field !== 'metadata' && field !== 'spec')
      refuse(field, 'is no field of a pod template: write metadata and spec');
  }
  return mergeMap(rendered as Fields, written as Fields, '');
}
