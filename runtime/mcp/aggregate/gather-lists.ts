import type { Aggregation } from '#crds/run-config/aggregation';
import type { RequestError } from '#runtime/errors';
import { NoAnswer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import { callFailure, NotListed } from '#runtime/mcp/backends/failures';
import { isAway, serves } from '#runtime/mcp/backends/health';
import { neededLogin } from '#runtime/mcp/backends/login-needed';
import type { Log } from '#runtime/telemetry/log';
import type { Asker } from './asker.ts';
import type { BackendList } from './fetch-list.ts';
import { Gathering } from './gathering.ts';
import { isSilence, type ListCache } from './list-cache.ts';
import { LIST_SPECS, type ListKind } from './list-kinds.ts';

export interface GatherOptions {
  readonly backends: () => readonly Backend[];
  readonly aggregation: () => Aggregation;
  readonly maxNameLength: () => number;
  /** Returns the milliseconds that a list waits for slow backends. */
  readonly listDeadline: () => number;
  /** Returns whether an unreachable backend counts as missing instead of being omitted. */
  readonly missesAway: () => boolean;
  readonly lists: ListCache;
  readonly log: Log;
}

/** Pending lists and the backends that cannot provide one. */
export interface Gathered {
  readonly gathering: Gathering;
  /** Backends whose list could not be fetched. */
  readonly missing: readonly string[];
  /** The failure of each backend that did not answer. */
  readonly failures: ReadonlyMap<string, RequestError>;
  /** Backends that did not answer in time, so their last list is used. */
  readonly late: readonly string[];
  /**
   * Backends that require a login of the caller before they can be asked. This is no failure. Backend name to provider.
   */
  readonly unlinked: ReadonlyMap<string, string>;
}

/** Milliseconds that a list waits for a backend with a last list, and for a backend without one. */
const REFRESH_WAIT = 250;
const FIRST_WAIT = 2_000;

/**
 * Asks all backends for their list of this kind. The last list replaces the list of a slow or unreachable backend. Slow
 * or unreachable backends without a last list are omitted.
 */
export function gatherLists(kind: ListKind, asker: Asker, options: GatherOptions): Gathered {
  const { backends, missesAway, aggregation, maxNameLength, log } = options;
  const { era } = asker;
  const having = backends().filter((backend) => mayHave(backend, kind));
  const missing: string[] = [];
  const failures = new Map<string, RequestError>();
  const late: string[] = [];
  const unlinked = new Map<string, string>();
  const asked = having.filter((backend) => {
    if (serves(backend.health, era)) return true;
    if (!isAway(backend.health, era)) return false;
    if (!missesAway()) return true;
    missing.push(backend.name);
    failures.set(backend.name, awayError(backend));
    return false;
  });
  const gathering = new Gathering({
    kind,
    asked,
    fetch: (backend) => fetchOne(backend, kind, asker, options, () => late.push(backend.name)),
    missed: (backend, error) => {
      const { name, health } = backend;
      const provider = neededLogin(error);
      if (provider === undefined) {
        // A backend that is known to be unreachable is omitted, because waiting cannot provide its list.
        if (serves(health, era)) missing.push(name);
        failures.set(name, failureOf(name, error));
      } else unlinked.set(name, provider);
      log.debug('a list is missing', { backend: name, kind, reason: describe(error) });
    },
    aggregation: aggregation(),
    maxNameLength: maxNameLength(),
  });
  return { gathering, missing, failures, late, unlinked };
}

/** Fetches one list. Calls `standsIn` if the returned list is the last one. */
function fetchOne(
  backend: Backend,
  kind: ListKind,
  asker: Asker,
  { lists, listDeadline }: Pick<GatherOptions, 'lists' | 'listDeadline'>,
  standsIn: () => void,
): BackendList | Promise<BackendList> {
  const known = lists.known(backend, kind, asker);
  if (known?.isFresh) return known.list;
  const isAsked = serves(backend.health, asker.era) && !(known && asker.mayRefresh?.(backend) === false);
  if (known && !isAsked) {
    standsIn();
    return known.list;
  }
  if (!isAsked) return Promise.reject(new NoAnswer(callFailure(backend.name, 'unavailable', false)));
  const wait = lists.waitLeft(backend, asker, Math.min(known ? REFRESH_WAIT : FIRST_WAIT, listDeadline()));
  const list = within(lists.get(backend, kind, asker), wait, () => lists.noteSlow(backend, asker, wait), backend);
  if (!known || !(list instanceof Promise)) return list;
  return list.catch((error: unknown) => {
    if (!isSilence(error)) throw error;
    standsIn();
    return known.list;
  });
}

function within(
  list: BackendList | Promise<BackendList>,
  wait: number,
  isLate: () => void,
  backend: Backend,
): BackendList | Promise<BackendList> {
  if (!(list instanceof Promise)) return list;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      isLate();
      reject(new NoAnswer(callFailure(backend.name, 'timeout', false, new NotListed())));
    }, wait).unref();
  });
  // The cache keeps a late list and reports its arrival.
  list.catch(() => undefined);
  return Promise.race([list, late]).finally(() => clearTimeout(timer));
}

function awayError({ name }: Backend): RequestError {
  return callFailure(name, 'unavailable', false).error;
}

/** Returns whether the backend may have such a list. If capabilities are unknown, the gateway tries. */
function mayHave(backend: Backend, kind: ListKind): boolean {
  return backend.health.capabilities?.[LIST_SPECS[kind].capability] ?? true;
}

function failureOf(backend: string, error: unknown): RequestError {
  return error instanceof NoAnswer ? error.failure.error : callFailure(backend, 'protocol', true, error).error;
}

function describe(error: unknown): string {
  return error instanceof NoAnswer ? error.failure.reason : error instanceof Error ? error.message : 'unknown';
}
