/** Parts of the provider that can fail on purpose. */
export type Part = 'all' | 'discovery' | 'jwks' | 'token';
export type Fault = 'fail' | 'hang';

const PARTS: [part: Part, path: RegExp][] = [
  ['discovery', /^\/\.well-known\//],
  ['jwks', /^\/jwks$/],
  ['token', /^\/token$/],
  ['all', /^/],
];

/** Returns the part that a path belongs to. */
function partOf(path: string): Part {
  return PARTS.find(([, pattern]) => pattern.test(path))?.[0] ?? 'all';
}

export const isPart = (value: string): value is Part => PARTS.some(([part]) => part === value);
export const isFault = (value: string): value is Fault => value === 'fail' || value === 'hang';

/** Active faults, and the number of requests to each part. */
export interface Faults {
  /** Requests since the start, by part. */
  readonly counts: ReadonlyMap<Part, number>;
  readonly broken: ReadonlyMap<Part, Fault>;
  /** Undefined: the part works again. */
  readonly set: (part: Part, fault: Fault | undefined) => void;
  /** Counts a request, and returns its fault, if any. */
  readonly meet: (path: string) => Fault | undefined;
}

export function createFaults(): Faults {
  const broken = new Map<Part, Fault>();
  const counts = new Map<Part, number>();
  return {
    counts,
    broken,
    set: (part, fault) => {
      if (fault === undefined) broken.delete(part);
      else broken.set(part, fault);
    },
    meet: (path) => {
      const part = partOf(path);
      counts.set(part, (counts.get(part) ?? 0) + 1);
      return broken.get(part) ?? broken.get('all');
    },
  };
}
