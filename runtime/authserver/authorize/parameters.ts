/** One that came once and is not empty; one without a value is as one that was left out (RFC 6749 §3.1). */
export function valueOf(parameters: URLSearchParams, name: string): string | undefined {
  const [value, second] = parameters.getAll(name);
  return second === undefined && value !== '' ? value : undefined;
}

/** RFC 6749 §3.1: no parameter may come more than once. */
export function isRepeated(parameters: URLSearchParams, name: string): boolean {
  return parameters.getAll(name).length > 1;
}
