import { standsIn } from './compare-objects.ts';

/** Fields per line, to keep it readable. */
const NAMED = 8;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Appends a step: a key with a dot or slash in brackets, a list entry by its name. */
function step(path: string, key: string, value: unknown, isEntry: boolean): string {
  if (isEntry) return `${path}[${isObject(value) && typeof value.name === 'string' ? value.name : key}]`;
  if (/[./]/.test(key)) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

function collect(desired: unknown, live: unknown, path: string, found: string[]): void {
  if (standsIn(desired, live)) return;
  const sameShape = isObject(desired) && isObject(live) && Array.isArray(desired) === Array.isArray(live);
  if (!sameShape || (Array.isArray(desired) && desired.length !== Object.keys(live).length)) {
    found.push(path);
    return;
  }
  for (const [key, value] of Object.entries(desired))
    collect(value, live[key], step(path, key, value, Array.isArray(desired)), found);
}

/** Lists the fields of `live` that are not as desired, as paths without values. Empty if fields only have to be removed. */
export function changedFields(desired: object, live: object): string[] {
  const found: string[] = [];
  collect(desired, live, '', found);
  return found.length > NAMED ? [...found.slice(0, NAMED), `and ${found.length - NAMED} more`] : found;
}
