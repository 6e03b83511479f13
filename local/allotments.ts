import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

const FIRST_PORT = 4483;
const STEP = 10;
const PLACES = 500;
/** How many places beyond the number of servers are looked at for busy ports. */
const SPARE = 20;
/** How many servers that have gone keep their uid. */
const REMEMBERED = 1000;
/** Backends that vmcp starts, and private ports, have ranges of their own, below those that systems give to connections. */
const FIRST_BACKEND_PORT = 14_483;
const FIRST_PRIVATE_PORT = 24_484;

const Allotments = z.object({
  /** `<namespace>/<name of its runtime>` of what has an endpoint to its place in the order of ports. */
  slots: z.record(z.string(), z.int().min(0)).default({}),
  /** The same name to its place in the order of private ports. */
  privatePlaces: z.record(z.string(), z.int().min(0)).default({}),
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

/** Private port of a place in the order: 24484, 24485, … */
export function privatePortOfPlace(place: number): number {
  return FIRST_PRIVATE_PORT + place;
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

interface NumberRules {
  keeps: (number: number, name: string) => boolean;
  isFree: (candidate: number, name: string) => boolean;
}

/** Former numbers where they are kept, the lowest free one for the rest. */
function giveNumbers(
  applicants: Applicant[],
  former: Record<string, number>,
  { keeps, isFree }: NumberRules,
): Record<string, number> {
  const given: Record<string, number> = {};
  const taken = new Set<number>();
  const give = (name: string, candidate: number): void => {
    given[name] = candidate;
    taken.add(candidate);
  };
  for (const { name } of applicants) {
    const known = former[name];
    if (known !== undefined && !taken.has(known) && keeps(known, name)) give(name, known);
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

/** What is known of the ports besides what was given before. */
export interface PortFacts {
  /** Whether another program has this port. */
  busy: (port: number) => boolean;
  /** No process of the folder runs, so a private port or one of a backend can give way without a loss. */
  starting?: boolean | undefined;
  /** Whether the endpoint of this applicant runs on this public port. */
  runs?: ((port: number, name: string) => boolean) | undefined;
  /** A private port or one of a backend, given to this applicant, that its process found taken. */
  lost?: { name: string; port: number } | undefined;
}

interface AllotOptions extends PortFacts {
  makeUid: () => string;
}

/**
 * Adds what is missing and frees the places of those that are gone. A public port stays while its endpoint runs, as clients know
 * it. Otherwise it stays unless another resource claims it. Private ports and those of backends move only when their process could not have them.
 */
export function allot(
  former: Allotments,
  servers: Applicant[],
  backends: Applicant[],
  { busy, starting = false, runs = () => false, lost, makeUid }: AllotOptions = {
    busy: () => false,
    makeUid: randomUUID,
  },
): Allotments {
  const claims = claimsOf([...servers, ...backends]);
  const listening = servers.filter(({ listens }) => listens !== false);
  const isFree = (port: number, name: string): boolean => !busy(port) && !claims.byOther(port, name);
  const isLost = (port: number, name: string): boolean => lost?.port === port && lost.name === name;
  const slots = giveNumbers(listening, former.slots, {
    keeps: (slot, name) => runs(portOfSlot(slot), name) || !claims.byOther(portOfSlot(slot), name),
    isFree: (slot, name) => isFree(portOfSlot(slot), name),
  });
  const hidden = (portOf: (place: number) => number, own: (name: string) => string): NumberRules => ({
    keeps: (place, name) => !isLost(portOf(place), name) && (!starting || isFree(portOf(place), own(name))),
    isFree: (place, name) => !isLost(portOf(place), name) && isFree(portOf(place), own(name)),
  });
  const privatePlaces = giveNumbers(
    listening,
    former.privatePlaces,
    hidden(privatePortOfPlace, () => ''),
  );
  const backendPlaces = giveNumbers(
    backends,
    former.backendPlaces,
    hidden(portOfPlace, (name) => name),
  );
  return { slots, privatePlaces, backendPlaces, uids: giveUids(servers, former.uids, makeUid) };
}

/** A server that comes back has its former uid, unless too many have gone since: those that went first are forgotten. */
function giveUids(servers: Applicant[], former: Record<string, string>, makeUid: () => string): Record<string, string> {
  const present = new Set(servers.map(({ name }) => name));
  const gone = Object.entries(former).filter(([name]) => !present.has(name));
  const given = servers.map(({ name }) => [name, former[name] ?? makeUid()] as const);
  return Object.fromEntries([...given, ...gone.slice(0, REMEMBERED)]);
}

/**
 * The ports that may be given. Once processes run, the kernel is asked about no port that is given: a look takes it for a
 * moment, in which its process could not start.
 */
export function candidatePorts(
  given: Allotments,
  servers: Applicant[],
  backends: Applicant[],
  starting: boolean,
): number[] {
  const ours = [
    ...Object.values(given.slots).map(portOfSlot),
    ...Object.values(given.privatePlaces).map(privatePortOfPlace),
    ...Object.values(given.backendPlaces).map(portOfPlace),
  ];
  const claimed = [...servers, ...backends].flatMap(({ claims }) => claims ?? []);
  const numbers = (applicants: Applicant[]) => Array.from({ length: applicants.length + SPARE }, (_, number) => number);
  const others = [
    ...numbers(servers).flatMap((number) => [portOfSlot(number), privatePortOfPlace(number)]),
    ...numbers(backends).map(portOfPlace),
  ];
  if (starting) return [...new Set([...ours, ...others])];
  const running = new Set([...ours, ...claimed]);
  return others.filter((port) => !running.has(port));
}

/** Whether everything that needs a port has one. */
export function isComplete(
  { slots, backendPlaces, privatePlaces }: Allotments,
  servers: Applicant[],
  backends: Applicant[],
): boolean {
  const listening = servers.filter(({ listens }) => listens !== false);
  return (
    listening.every(({ name }) => name in slots && name in privatePlaces) &&
    backends.every(({ name }) => name in backendPlaces)
  );
}
