import type { Aggregation } from '#crds/run-config/aggregation';
import type { RequestError } from '#runtime/errors';
import { NoAnswer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import { callFailure, NotListed } from '#runtime/mcp/backends/failures';
import { isAway } from '#runtime/mcp/backends/health';
import { neededLogin } from '#runtime/mcp/backends/login-needed';
import type { Log } from '#runtime/telemetry/log';
import type { AppUris } from './app-uris.ts';
import type { Asker } from './asker.ts';
import type { BackendList } from './fetch-list.ts';
import { Gathering } from './gathering.ts';
import { isSilence, type ListCache } from './list-cache.ts';
import { LIST_SPECS, type ListKind } from './list-kinds.ts';

export interface GatherOptions {
  readonly backends: () => readonly Backend[];
  readonly aggregation: () => Aggregation;
  readonly maxNameLength: () => number;
  /** Milliseconds. */
  readonly listDeadline: () => number;
  /** Whether an unreachable backend counts as missing instead of being omitted. */
  readonly missesAway: () => boolean;
  readonly lists: ListCache;
  readonly apps: AppUris;
  readonly log: Log;
}

export interface Gathered {
  readonly gathering: Gathering;
  readonly missing: readonly string[];
  readonly failures: ReadonlyMap<string, RequestError>;
  /** Backends that did not answer in time, so their last list is used. */
  readonly late: readonly string[];
  /** Backend name to provider. A login that the caller needs first is no failure. */
  readonly unlinked: ReadonlyMap<string, string>;
}

/** Milliseconds: for a backend with a last list, and for one without. */
const REFRESH_WAIT = 250;
const FIRST_WAIT = 2_000;

/** The last list replaces that of a slow or unreachable backend. Such a backend without a last list is omitted. */
export function gatherLists(kind: ListKind, asker: Asker, options: GatherOptions): Gathered {
  const { backends, missesAway, aggregation, maxNameLength, apps, log } = options;
  const having = backends().filter((backend) => mayHave(backend, kind));
  const missing: string[] = [];
  const failures = new Map<string, RequestError>();
  const late: string[] = [];
  const unlinked = new Map<string, string>();
  const asked = having.filter((backend) => {
    if (!isAway(backend.health) || !missesAway()) return true;
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
        // Waiting cannot provide the list of an unreachable backend.
        if (!isAway(health)) missing.push(name);
        failures.set(name, failureOf(name, error));
      } else unlinked.set(name, provider);
      log.debug('a list is missing', { backend: name, kind, reason: describe(error) });
    },
    aggregation: aggregation(),
    maxNameLength: maxNameLength(),
    apps,
  });
  return { gathering, missing, failures, late, unlinked };
}

function fetchOne(
  backend: Backend,
  kind: ListKind,
  asker: Asker,
  { lists, listDeadline }: Pick<GatherOptions, 'lists' | 'listDeadline'>,
  standsIn: () => void,
): BackendList | Promise<BackendList> {
  const known = lists.known(backend, kind, asker);
  if (known?.isFresh) return known.list;
  const isAsked = !isAway(backend.health) && !(known && asker.mayRefresh?.(backend) === false);
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

/** If capabilities are unknown, the gateway tries. */
function mayHave(backend: Backend, kind: ListKind): boolean {
  return backend.health.capabilities?.[LIST_SPECS[kind].capability] ?? true;
}

function failureOf(backend: string, error: unknown): RequestError {
  return error instanceof NoAnswer ? error.failure.error : callFailure(backend, 'protocol', true, error).error;
}

function describe(error: unknown): string {
  return error instanceof NoAnswer ? error.failure.reason : error instanceof Error ? error.message : 'unknown';
}
