export interface NamedFile {
  readonly file: string;
  readonly path: readonly (string | number)[];
}

/** Maps with user-defined keys, so that a key that ends in `_file` names no file. */
const FOREIGN_KEYS = new Set([
  'add_plaintext_headers',
  'additional_authorization_params',
  'additional_headers',
  'customAttributes',
  'env',
  'headers',
  'jwks',
  'oauth_params',
  'overrides',
  'per_workload',
  'tools_override',
]);

/** Returns files that must exist: `*_file`, lists and maps `*_files`; not `logFile` and a database's `file`, which the runtime creates. */
export function listFiles(value: unknown, path: readonly (string | number)[] = []): NamedFile[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => listFiles(item, [...path, index]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const here = [...path, key];
    if (FOREIGN_KEYS.has(key)) return [];
    if (key.endsWith('_file') && typeof member === 'string') return [{ file: member, path: here }];
    if (key.endsWith('_files') && isObject(member)) return strings(member, here);
    return listFiles(member, here);
  });
}

/** Returns the value with an empty text for each file name. Two results are equal if the values differ only in file names. */
export function blankFileNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(blankFileNames);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, blankMember(key, member)]));
}

function blankMember(key: string, member: unknown): unknown {
  if (FOREIGN_KEYS.has(key)) return member;
  if (key.endsWith('_file') && typeof member === 'string') return '';
  if (!key.endsWith('_files') || !isObject(member)) return blankFileNames(member);
  return Array.isArray(member) ? member.map(() => '') : Object.keys(member);
}

function strings(group: object, path: readonly (string | number)[]): NamedFile[] {
  const named: NamedFile[] = [];
  for (const [key, file] of Object.entries(group)) {
    const step = Array.isArray(group) ? Number(key) : key;
    if (typeof file === 'string') named.push({ file, path: [...path, step] });
  }
  return named;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
