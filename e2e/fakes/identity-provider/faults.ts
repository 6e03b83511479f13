/** What goes wrong on purpose, by part of the provider. */
export type Part = 'all' | 'discovery' | 'jwks' | 'token';
export type Fault = 'fail' | 'hang';

const PARTS: [part: Part, path: RegExp][] = [
  ['discovery', /^\/\.well-known\//],
  ['jwks', /^\/jwks$/],
  ['token', /^\/token$/],
  ['all', /^/],
];

/** The part that a path belongs to. */
export function partOf(path: string): Part {
  return PARTS.find(([, pattern]) => pattern.test(path))?.[0] ?? 'all';
}

export const isPart = (value: string): value is Part => PARTS.some(([part]) => part === value);
export const isFault = (value: string): value is Fault => value === 'fail' || value === 'hang';
