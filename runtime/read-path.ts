/** Returns the member of that name. If it is missing or null, returns the value at that dotted path; undefined: none. */
export function readPath(document: unknown, path: string): unknown {
  const whole = memberOf(document, path);
  if (whole !== undefined && whole !== null) return whole;
  let value = document;
  for (const step of path.split('.')) value = memberOf(value, step);
  return value;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
