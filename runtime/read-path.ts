/** The member of that name, or else (where it is not there, or null) what stands at that dotted path; undefined: there is nothing. */
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
