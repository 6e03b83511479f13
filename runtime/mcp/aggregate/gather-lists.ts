import type { Aggregation } from '#crds/run-config/aggregation';
import type { RequestError } from '#runtime/errors';
import { NoAnswer } from '#runtime/mcp/backends/ask';
import type { Backend } from '#runtime/mcp/backends/backend';
import { callFailure } from '#runtime/mcp/backends/failures';
import { isAway, serves } from '#runtime/mcp/backends/health';
import { neededLogin } from '#runtime/mcp/backends/login-needed';
import type { Log } from '#runtime/telemetry/log';
import type { Asker } from './asker.ts';
import type { BackendList } from './fetch-list.ts';
import { Gathering } from './gathering.ts';
import type { ListCache } from './list-cache.ts';
import { LIST_SPECS, type ListKind } from './list-kinds.ts';

export interface GatherOptions {
  readonly backends: () => readonly Backend[];
  readonly aggregation: () => Aggregation;
  readonly maxNameLength: () => number;
  /** Milliseconds that a list waits for slow backends. */
  readonly listDeadline: () => number;
  /** A backend that is away is missing from a list, not just left out of it. */
  readonly missesAway: () => boolean;
  readonly lists: ListCache;
  readonly log: Log;
}

/** Lists on their way. */
export interface Gathered {
  readonly gathering: Gathering;
  /** Backends whose list is not to be had. */
  readonly missing: readonly string[];
  /** Why, where a backend was asked. */
  readonly failures: ReadonlyMap<string, RequestError>;
  /** Backends that cannot be asked before the caller has logged in somewhere, which is nobody's fault: name to provider. */
  readonly unlinked: ReadonlyMap<string, string>;
}

/** Asks all backends for their list of this kind; those that do not answer in time are left out. */
export function gatherLists(kind: ListKind, asker: Asker, options: GatherOptions): Gathered {
  const { backends, lists, missesAway, aggregation, maxNameLength, listDeadline, log } = options;
  const having = backends().filter((backend) => mayHave(backend, kind));
  const away = missesAway() ? having.filter(({ health }) => isAway(health, asker.era)) : [];
  const missing = away.map(({ name }) => name);
  const failures = new Map<string, RequestError>();
  const unlinked = new Map<string, string>();
  const gathering = new Gathering({
    kind,
    asked: having.filter((backend) => serves(backend.health, asker.era)),
    fetch: (backend) => within(lists.get(backend, kind, asker), listDeadline(), backend.name),
    missed: ({ name }, error) => {
      const provider = neededLogin(error);
      if (provider === undefined) {
        missing.push(name);
        failures.set(name, failureOf(name, error));
      } else unlinked.set(name, provider);
      log.debug('a list is missing', { backend: name, kind, reason: describe(error) });
    },
    aggregation: aggregation(),
    maxNameLength: maxNameLength(),
  });
  return { gathering, missing, failures, unlinked };
}

function within(
  list: BackendList | Promise<BackendList>,
  deadline: number,
  backend: string,
): BackendList | Promise<BackendList> {
  if (!(list instanceof Promise)) return list;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new NoAnswer(callFailure(backend, 'timeout', true))), deadline);
  });
  // A list that comes later is not lost: the cache keeps it and says that it arrived.
  list.catch(() => undefined);
  return Promise.race([list, late]).finally(() => clearTimeout(timer));
}

/** Whether the backend has such a list at all; unknown capabilities are tried. */
function mayHave(backend: Backend, kind: ListKind): boolean {
  return backend.health.capabilities?.[LIST_SPECS[kind].capability] ?? true;
}

function failureOf(backend: string, error: unknown): RequestError {
  return error instanceof NoAnswer ? error.failure.error : callFailure(backend, 'protocol', true, error).error;
}

function describe(error: unknown): string {
  return error instanceof NoAnswer ? error.failure.reason : error instanceof Error ? error.message : 'unknown';
}
