import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from './write-file.ts';

const FIRST_PORT = 4483;
const STEP = 10;
const PLACES = 500;
/** How many places beyond the number of servers are looked at for busy ports. */
const SPARE = 20;
/** How many servers that have gone keep their uid. */
const REMEMBERED = 1000;
/** Backends that vmcp starts listen far from the endpoints. */
const FIRST_BACKEND_PORT = 14_483;

const Allotments = z.object({
  /** `<namespace>/<name of its runtime>` of what has an endpoint to its place in the order of ports. */
  slots: z.record(z.string(), z.int().min(0)).default({}),
  /** The same for private ports: the same place unless that port is busy. */
  privateSlots: z.record(z.string(), z.int().min(0)).default({}),
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

/** Public port of a place in the order: 4483, 4493, 4503, … */
export function portOfSlot(slot: number): number {
  return FIRST_PORT + STEP * slot;
}

/** Private port of a place in the order: 4484, 4494, 4504, … */
export function privatePortOfSlot(slot: number): number {
  return portOfSlot(slot) + 1;
}

/** Port of a backend that vmcp starts. */
export function portOfPlace(place: number): number {
  return FIRST_BACKEND_PORT + place;
}

/** Someone who needs an identity or an address. */
export interface Applicant {
  /** `<namespace>/<name>`. */
  name: string;
  /** The port that the resource asks for by itself. */
  claims?: number;
  /** False: it has an identity, and nothing of it listens. */
  listens?: false;
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
      if (candidate >= PLACES)
        throw new Error(`more than ${PLACES} ports would have to be given to resources of one kind: split the folder`);
      if (!taken.has(candidate) && isFree(candidate, name)) give(name, candidate);
      candidate += 1;
    }
  }
  return given;
}

interface AllotOptions {
  /** Whether another program has this port. */
  busy: (port: number) => boolean;
  makeUid: () => string;
}

/**
 * Adds what is missing and frees the places of those that are gone. A port that a resource claims is given to no other. A
 * public port, once given, stays, as clients know it; private ones and those of backends avoid what is busy at each start.
 */
export function allot(
  former: Allotments,
  servers: Applicant[],
  backends: Applicant[],
  { busy, makeUid }: AllotOptions = { busy: () => false, makeUid: randomUUID },
): Allotments {
  const claims = claimsOf([...servers, ...backends]);
  const listening = servers.filter(({ listens }) => listens !== false);
  const slots = giveNumbers(listening, former.slots, (slot, name) => {
    const port = portOfSlot(slot);
    return !claims.byOther(port, name) && (former.slots[name] === slot || !busy(port));
  });
  const privateSlots = giveNumbers(listening, { ...slots, ...former.privateSlots }, (slot) => {
    const port = privatePortOfSlot(slot);
    return !claims.byOther(port, '') && !busy(port);
  });
  const backendPlaces = giveNumbers(backends, former.backendPlaces, (place, name) => {
    const port = portOfPlace(place);
    return !claims.byOther(port, name) && !busy(port);
  });
  return { slots, privateSlots, backendPlaces, uids: giveUids(servers, former.uids, makeUid) };
}

/** A server that comes back has its former uid, unless too many have gone since: those that went first are forgotten. */
function giveUids(servers: Applicant[], former: Record<string, string>, makeUid: () => string): Record<string, string> {
  const present = new Set(servers.map(({ name }) => name));
  const gone = Object.entries(former).filter(([name]) => !present.has(name));
  const given = servers.map(({ name }) => [name, former[name] ?? makeUid()] as const);
  return Object.fromEntries([...given, ...gone.slice(0, REMEMBERED)]);
}

/** The ports that may be given to so many, before and after what is taken is left out. */
export function candidatePorts(servers: number, backends: number): number[] {
  const slots = Array.from({ length: servers + SPARE }, (_, slot) => [portOfSlot(slot), privatePortOfSlot(slot)]);
  const places = Array.from({ length: backends + SPARE }, (_, place) => portOfPlace(place));
  return [...slots.flat(), ...places];
}
