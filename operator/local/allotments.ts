import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from './write-file.ts';

const FIRST_PORT = 4483;
const STEP = 10;
const PLACES = 500;
/** Backends that vmcp starts listen far from the endpoints. */
const FIRST_BACKEND_PORT = 14_483;

const Allotments = z.object({
  /** `<namespace>/<name>` of a server to its place in the order of ports. */
  slots: z.record(z.string(), z.int().min(0)).default({}),
  uids: z.record(z.string(), z.string()).default({}),
  /** `<namespace>/<name>` of a backend to its place in the order of backend ports. */
  backendPlaces: z.record(z.string(), z.int().min(0)).default({}),
});
/** What is given to a resource once and stays the same from start to start, by `<namespace>/<name>`. */
export type Allotments = z.infer<typeof Allotments>;

/** Those of earlier starts. A file that cannot be read counts as none: they can be made again. */
export function readAllotments(state: StateFolder): Allotments {
  try {
    return Allotments.parse(JSON.parse(readIfThere(state.allotments) ?? '{}'));
  } catch {
    return Allotments.parse({});
  }
}

export function writeAllotments(state: StateFolder, allotments: Allotments): void {
  writeFileAtomic(state.allotments, `${JSON.stringify(allotments, null, 2)}\n`);
}

/** Public and private port of a place in the order: 4483 and 4484, 4493 and 4494, … */
export function portsOfSlot(slot: number): { port: number; privatePort: number } {
  const port = FIRST_PORT + STEP * slot;
  return { port, privatePort: port + 1 };
}

/** Port of a backend that vmcp starts. */
export function portOfPlace(place: number): number {
  return FIRST_BACKEND_PORT + place;
}

/** Someone who needs an address: `<namespace>/<name>`, and the port that the resource asks for by itself, if any. */
export interface Applicant {
  name: string;
  claims?: number;
}

interface Claims {
  /** Whether another applicant asks for this port. */
  byOther(port: number, name: string): boolean;
}

function claimsOf(applicants: Applicant[]): Claims {
  const owners = new Map<number, string>();
  for (const { name, claims } of applicants) if (claims !== undefined) owners.set(claims, name);
  return { byOther: (port, name) => owners.has(port) && owners.get(port) !== name };
}

/** Former numbers where they are still free, the lowest free one for the rest. */
function giveNumbers(
  applicants: Applicant[],
  former: Record<string, number>,
  isFree: (candidate: number, name: string) => boolean,
): Record<string, number> {
  const given: Record<string, number> = {};
  const taken = new Set<number>();
  const give = (name: string, candidate: number): void => {
    given[name] = candidate;
    taken.add(candidate);
  };
  for (const { name } of applicants) {
    const known = former[name];
    if (known !== undefined && !taken.has(known) && isFree(known, name)) give(name, known);
  }
  for (const { name } of applicants) {
    let candidate = 0;
    while (given[name] === undefined) {
      if (candidate >= PLACES) throw new Error(`there are more than ${PLACES} servers in this folder: split it`);
      if (!taken.has(candidate) && isFree(candidate, name)) give(name, candidate);
      candidate += 1;
    }
  }
  return given;
}

/** Adds what is missing and frees the places of those that are gone. A port that a resource claims is given to no other. */
export function allot(
  former: Allotments,
  servers: Applicant[],
  backends: Applicant[],
  makeUid: () => string = randomUUID,
): Allotments {
  const claims = claimsOf([...servers, ...backends]);
  const slots = giveNumbers(servers, former.slots, (slot, name) => {
    const { port, privatePort } = portsOfSlot(slot);
    return !claims.byOther(port, name) && !claims.byOther(privatePort, name);
  });
  const backendPlaces = giveNumbers(
    backends,
    former.backendPlaces,
    (place, name) => !claims.byOther(portOfPlace(place), name),
  );
  const uids = { ...former.uids };
  for (const { name } of servers) uids[name] ??= makeUid();
  return { slots, backendPlaces, uids };
}
