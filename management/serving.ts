import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CallerQuota, releaseOnAbort } from './caller-quota.ts';
import type { RateLimit } from './limit-rate.ts';
import type { Expected } from './if-match.ts';
import { BOUNDS } from './memory-bounds.ts';
import type { Answer, Caller, Operation, RawRequest } from './operation.ts';
import { Problem, problemOf } from './problem.ts';
import type { Services } from './services.ts';
import { bodyBytes } from './read-body.ts';
import { whileAllowed } from './while-allowed.ts';

/** Authenticated caller. */
export interface Principal {
  name: string;
  /** Returns the caller with its permissions in a namespace. */
  in(namespace: string): Caller;
}

/** Admits requests and authenticates callers. Implementations: local machine and cluster. */
export interface Authenticator {
  /** Rejects a request by its head. @throws Problem */
  admit(request: IncomingMessage): void;
  /** @throws Problem `unauthenticated` */
  authenticate(request: IncomingMessage): Promise<Principal>;
  /** Returns the namespace of `?namespace=`. @throws Problem `namespace_missing`, `bad_request` */
  namespaceOf(asked: unknown): string;
}

interface ServingOptions {
  authenticator: Authenticator;
  /** Returns the services of a namespace; the empty string stands for operations without a namespace. */
  servicesOf: (namespace: string) => Services;
  /** Limits the requests of one address. */
  addresses: RateLimit;
  /** Limits the requests of one caller. */
  callers: RateLimit;
  /** Called after each mutating operation. */
  onChange: (change: ChangeEvent) => void;
  /** Called on each internal error. */
  onFailure: (request: IncomingMessage, problem: Problem) => void;
  /** Milliseconds until the answer of an operation must begin. */
  deadline?: number;
  /** Milliseconds between two permission checks of a caller that reads lines. */
  askEvery?: number;
}

/** Audit event of a mutating operation. */
export interface ChangeEvent {
  type: string;
  /** `denied`: missing permission or invalid token; `failure`: invalid request; `error`: internal. */
  outcome: 'success' | 'denied' | 'failure' | 'error';
  /** Absent if the caller is unknown. */
  user?: string;
  source: string;
  method: string;
  path: string;
  namespace?: string;
  /** Path parameters: names, never secrets. */
  params: Record<string, unknown>;
  durationMs: number;
  code?: string;
}

/** Parsed request line of an operation, with readers for the rest. */
export interface Asked extends Pick<RawRequest, 'params'> {
  query: Record<string, unknown>;
  /** Returns the versions of `If-Match`. @throws Problem `bad_request` */
  readTag: () => Expected | undefined;
  readBody: () => Promise<unknown>;
  /** Aborted when the client disconnects. */
  gone: AbortSignal;
}

/** Known facts about a request, for its audit event. */
interface Progress {
  startedAt: number;
  user?: string;
  namespace?: string;
}

/** Default of `deadline` in milliseconds. */
export const DEADLINE = 60_000;
const ASK_EVERY = 60_000;
/** Maximum open streams of one caller: each holds one of the server's 256 connections. */
const STREAMS_OF_ONE = 20;

/** Handles a request to an operation: caller, namespace, quota, call. */
export class Serving {
  readonly #options: ServingOptions;
  readonly #streams = new CallerQuota({ perKey: STREAMS_OF_ONE, tell: (count) => `${count} logs are being read` });

  readonly #bodies = new CallerQuota({
    total: BOUNDS.bodies.ofAll,
    perKey: BOUNDS.bodies.ofCaller,
    tell: (bytes) => `bodies of ${bytes} bytes are being read`,
  });

  constructor(options: ServingOptions) {
    this.#options = options;
  }

  /** @throws Problem `bad_request`, `foreign_host`, `too_many_requests` */
  admit(request: IncomingMessage): void {
    checkHead(request);
    this.#options.authenticator.admit(request);
    this.#options.addresses.take(request.socket.remoteAddress ?? '');
  }

  /** @throws Problem `unauthenticated`, `too_many_requests` */
  async identify(request: IncomingMessage): Promise<Principal> {
    const principal = await this.#options.authenticator.authenticate(request);
    this.#options.callers.take(principal.name);
    return principal;
  }

  failed(request: IncomingMessage, problem: Problem): void {
    if (problem.status >= 500) this.#options.onFailure(request, problem);
  }

  /** @throws Problem */
  async run(operation: Operation, asked: Asked, request: IncomingMessage): Promise<Answer<unknown>> {
    const progress: Progress = { startedAt: performance.now() };
    try {
      const answer = await this.#run(operation, asked, request, progress);
      this.#tell(operation, asked, request, progress);
      return answer;
    } catch (error) {
      this.#tell(operation, asked, request, progress, problemOf(error));
      throw error;
    }
  }

  async #run(operation: Operation, asked: Asked, request: IncomingMessage, progress: Progress) {
    const principal = await this.identify(request);
    progress.user = principal.name;
    if (operation.media !== undefined) releaseOnAbort(asked.gone, this.#streams.take(principal.name));
    const { namespace: wanted, ...query } = asked.query;
    const namespace = operation.namespaced === false ? '' : this.#options.authenticator.namespaceOf(wanted);
    progress.namespace = namespace;
    const ifMatch = asked.readTag();
    const { params } = asked;
    const caller = principal.in(namespace);
    const bytes = bodyBytes(request);
    if (bytes > 0) {
      await operation.checkFirst({ params, caller });
      releaseOnAbort(asked.gone, this.#bodies.take(principal.name, bytes));
    }
    const body = await asked.readBody();
    const refused = new AbortController();
    const gone = AbortSignal.any([asked.gone, refused.signal]);
    const raw = { params, query, body, ifMatch };
    const answer = await this.#inTime(gone, (signal) =>
      operation.call({ ...raw, caller, signal }, this.#options.servicesOf(namespace)),
    );
    if (!answer.lines) return answer;
    const ask = async () => {
      const { authenticator } = this.#options;
      await operation.check({
        ...raw,
        caller: (await authenticator.authenticate(request)).in(namespace),
        signal: gone,
      });
    };
    const every = this.#options.askEvery ?? ASK_EVERY;
    return { ...answer, lines: whileAllowed(answer.lines, { ask, every, refused }) };
  }

  /** Runs the work within the deadline. After the deadline the signal of the work is aborted. */
  async #inTime<T>(gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.abort();
      reject(new Problem('unavailable', 'it took too long; look whether it was done before you try again'));
    }, this.#options.deadline ?? DEADLINE);
    try {
      return await Promise.race([work(AbortSignal.any([late.signal, gone])), promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #tell(
    { audit, method, path }: Operation,
    asked: Asked,
    request: IncomingMessage,
    { startedAt, ...known }: Progress,
    problem?: Problem,
  ): void {
    if (audit === undefined) return;
    this.#options.onChange({
      type: audit,
      outcome: outcomeOf(problem),
      ...known,
      source: request.socket.remoteAddress ?? '',
      method,
      path,
      params: { ...(asked.params as Record<string, unknown>) },
      durationMs: performance.now() - startedAt,
      ...(problem && { code: problem.code }),
    });
  }
}

const DENIED = new Set(['forbidden', 'unauthenticated']);

function outcomeOf(problem: Problem | undefined): ChangeEvent['outcome'] {
  if (!problem) return 'success';
  if (DENIED.has(problem.code)) return 'denied';
  return problem.status >= 500 ? 'error' : 'failure';
}

/** Headers that may occur once: Node uses the first of two values, other servers the last. */
const ONCE = ['host', 'authorization', 'origin', 'sec-fetch-site', 'content-type', 'content-encoding', 'if-match'];

/** Rejects an ambiguous head: two Host headers (RFC 9112 §3.2), a host in the path (§3.2.2), two tokens. @throws Problem `bad_request` */
function checkHead({ url = '', headersDistinct }: IncomingMessage): void {
  if (!url.startsWith('/')) throw new Problem('bad_request', 'path: write it from the root, without scheme and host');
  for (const name of ONCE)
    if ((headersDistinct[name]?.length ?? 0) > 1) throw new Problem('bad_request', `${name}: send this header once`);
}

/** Uses the format of the runtime's events. Holds path parameters only, because bodies may hold secrets. */
export function renderAuditLine(event: ChangeEvent, loggedAt: Date): string {
  const { type, outcome, source, user, method, path, namespace, params, durationMs, code } = event;
  const name = typeof params.name === 'string' ? params.name : params.key;
  const line = {
    audit_id: randomUUID(),
    type,
    logged_at: loggedAt.toISOString(),
    outcome,
    component: 'vmcp-management',
    source,
    subjects: { ...(user !== undefined && { user }) },
    target: { endpoint: path, method, type: path.split('/')[1], ...(name !== undefined && { name }) },
    metadata: { duration_ms: Math.round(durationMs * 1000) / 1000, transport: 'http' },
    data: { ...(namespace && { namespace }), ...params, ...(code !== undefined && { code }) },
  };
  return `${JSON.stringify(line)}\n`;
}
