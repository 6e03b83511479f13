import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { StateFolder } from './state-folder.ts';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

const FIRST_PORT = 4483;
const STEP = 10;
const PLACES = 500;
/** Number of candidate ports, beyond the number of servers, that are probed for use by other programs. */
const SPARE = 20;
/** Maximum number of deleted servers whose uid is remembered. */
const REMEMBERED = 1000;
/** Backends started by vmcp and private ports have ranges of their own, below the ephemeral ports of common systems. */
const FIRST_BACKEND_PORT = 14_483;
const FIRST_PRIVATE_PORT = 24_484;

const Allocations = z.object({
  /** Maps `<namespace>/<runtime name>` of each endpoint to its index in the sequence of public ports. */
  slots: z.record(z.string(), z.int().min(0)).default({}),
  /** Maps `<namespace>/<runtime name>` to its index in the sequence of private ports. */
  privatePlaces: z.record(z.string(), z.int().min(0)).default({}),
  uids: z.record(z.string(), z.string()).default({}),
  /** Maps `<namespace>/<name>` of each backend to its index in the sequence of backend ports. */
  backendPlaces: z.record(z.string(), z.int().min(0)).default({}),
});
/** Ports and uids by `<namespace>/<name>`. They stay the same across restarts. */
export type Allocations = z.infer<typeof Allocations>;

/** Reads the numbers of earlier starts. An unreadable file counts as empty; allocatePorts() then assigns new ones. */
export function readAllocations(state: StateFolder): Allocations {
  try {
    return Allocations.parse(JSON.parse(readIfThere(state.allocations) ?? '{}'));
  } catch {
    return Allocations.parse({});
  }
}

export function writeAllocations(state: StateFolder, allocations: Allocations): void {
  writeFileAtomic(state.allocations, `${JSON.stringify(allocations, null, 2)}\n`);
}

/** Returns the public port of an index: 4483, 4493, 4503, … */
export function portOfSlot(slot: number): number {
  return FIRST_PORT + STEP * slot;
}

/** Returns the private port of an index: 24484, 24485, … */
export function privatePortOfSlot(place: number): number {
  return FIRST_PRIVATE_PORT + place;
}

/** Returns the port of a backend that vmcp starts. */
export function backendPortOfSlot(place: number): number {
  return FIRST_BACKEND_PORT + place;
}

/** A resource that needs a uid or a port. */
export interface Applicant {
  /** `<namespace>/<name>`. */
  name: string;
  /** Port that the resource claims in its spec. */
  claims?: number;
  /** False when the resource has a uid but no endpoint. */
  listens?: false;
}

interface Claims {
  /** Reports whether another applicant claims this port. */
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

/** Keeps former numbers and assigns the lowest free number to each remaining applicant. */
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

/** Facts about ports, besides the former numbers. */
export interface PortFacts {
  /** Reports whether another program uses this port. */
  busy: (port: number) => boolean;
  /** No process of the folder runs, so private and backend ports can move without loss. */
  starting?: boolean | undefined;
  /** Reports whether the endpoint of this applicant runs on this public port. */
  runs?: ((port: number, name: string) => boolean) | undefined;
  /** Private or backend port of this applicant that its process found in use. */
  lost?: { name: string; port: number } | undefined;
}

interface AllocationOptions extends PortFacts {
  makeUid: () => string;
}

/**
 * Assigns missing numbers and releases those of deleted resources. A public port stays while its endpoint runs, because clients know
 * it;
 * otherwise it stays unless another resource claims it. Private and backend ports move only if their process could not bind them.
 */
export function allocatePorts(
  former: Allocations,
  servers: Applicant[],
  backends: Applicant[],
  { busy, starting = false, runs = () => false, lost, makeUid }: AllocationOptions = {
    busy: () => false,
    makeUid: randomUUID,
  },
): Allocations {
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
    hidden(privatePortOfSlot, () => ''),
  );
  const backendPlaces = giveNumbers(
    backends,
    former.backendPlaces,
    hidden(backendPortOfSlot, (name) => name),
  );
  return { slots, privatePlaces, backendPlaces, uids: giveUids(servers, former.uids, makeUid) };
}

/**
 * Returns the uids of all servers. A server that is added again gets its former uid, unless that was among the oldest beyond
 * REMEMBERED.
 */
function giveUids(servers: Applicant[], former: Record<string, string>, makeUid: () => string): Record<string, string> {
  const present = new Set(servers.map(({ name }) => name));
  const gone = Object.entries(former).filter(([name]) => !present.has(name));
  const given = servers.map(({ name }) => [name, former[name] ?? makeUid()] as const);
  return Object.fromEntries([...given, ...gone.slice(0, REMEMBERED)]);
}

/**
 * Returns the ports that may be given. While processes run, it leaves out ports already given: probing a port binds it briefly, and its
 * process could not start in that moment.
 */
export function candidatePorts(
  given: Allocations,
  servers: Applicant[],
  backends: Applicant[],
  starting: boolean,
): number[] {
  const ours = [
    ...Object.values(given.slots).map(portOfSlot),
    ...Object.values(given.privatePlaces).map(privatePortOfSlot),
    ...Object.values(given.backendPlaces).map(backendPortOfSlot),
  ];
  const claimed = [...servers, ...backends].flatMap(({ claims }) => claims ?? []);
  const numbers = (applicants: Applicant[]) => Array.from({ length: applicants.length + SPARE }, (_, number) => number);
  const others = [
    ...numbers(servers).flatMap((number) => [portOfSlot(number), privatePortOfSlot(number)]),
    ...numbers(backends).map(backendPortOfSlot),
  ];
  if (starting) return [...new Set([...ours, ...others])];
  const running = new Set([...ours, ...claimed]);
  return others.filter((port) => !running.has(port));
}

/** Reports whether every applicant that needs a port has one. */
export function isComplete(
  { slots, backendPlaces, privatePlaces }: Allocations,
  servers: Applicant[],
  backends: Applicant[],
): boolean {
  const listening = servers.filter(({ listens }) => listens !== false);
  return (
    listening.every(({ name }) => name in slots && name in privatePlaces) &&
    backends.every(({ name }) => name in backendPlaces)
  );
}
