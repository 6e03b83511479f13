/** Returns a parameter that occurs once and is not empty. An empty value counts as a missing one (RFC 6749 §3.1). */
export function valueOf(parameters: URLSearchParams, name: string): string | undefined {
  const [value, second] = parameters.getAll(name);
  return second === undefined && value !== '' ? value : undefined;
}

/** Returns whether a parameter occurs more than once, which RFC 6749 §3.1 forbids. */
export function isRepeated(parameters: URLSearchParams, name: string): boolean {
  return parameters.getAll(name).length > 1;
}
