import { Pool, type Dispatcher } from 'undici';
import type { HttpBackend as HttpBackendConfig } from '#crds/run-config/backend';
import { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { Credential, CredentialHeaders } from '#runtime/outgoing/credential';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { Backend, BackendCall, CallFailure, RunningCall } from './backend.ts';
import type { BackendParts } from './backend-parts.ts';
import type { Breaker } from './breaker.ts';
import type { Deadlines } from './deadlines.ts';
import { callFailure } from './failures.ts';
import type { BackendHealth } from './health.ts';
import type { KeptBytes } from './kept-bytes.ts';
import { HttpExchange, type ExchangeHost, type Load } from './http-exchange.ts';

interface HttpBackendOptions extends BackendParts {
  readonly config: HttpBackendConfig;
  readonly keptBytes: KeptBytes;
  readonly connectTimeout: number;
  /** Streams at a time. */
  readonly maxStreams: number;
  /** Certificates that the backend's is checked against; undefined: the system's. */
  readonly ca: string | undefined;
  /** Headers of `header_forward`, values read from their files: flat list. */
  readonly fixedHeaders: () => readonly string[];
  readonly createPool?: (origin: string, options: Pool.Options) => Dispatcher;
}

/** Streams stay open for as long as their readers: they must not use up what calls may, nor be a breaker's trial. */
function loadOf({ deadline, isProbe }: BackendCall): Load {
  if (isProbe) return 'probe';
  return deadline > 0 ? 'call' : 'stream';
}

const POST = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream'];
const GET = ['accept', 'text/event-stream'];
const BARE: CredentialHeaders = [];

/** A backend that is reached over HTTP. Two pools: streams that stay open must not use up the connections of calls. */
export class HttpBackend implements Backend, ExchangeHost {
  readonly name: string;
  readonly config: HttpBackendConfig;
  readonly credential: Credential;
  readonly authorizer: Authorizer | undefined;
  readonly health: BackendHealth;
  readonly sessions = true;
  readonly deadlines: Deadlines;
  readonly keptBytes: KeptBytes;
  readonly now: () => number;
  readonly maxResponseBytes: number;
  readonly #origin: string;
  readonly #path: string;
  readonly #createPool: (connections: number | null) => Dispatcher;
  /** One for each request that is repeated. */
  readonly #fresh = new Set<Dispatcher>();
  readonly #calls: Dispatcher;
  readonly #streams: Dispatcher;
  readonly #breaker: Breaker;
  readonly #limits: Readonly<Record<Load, number>>;
  readonly #running: Record<Load, number> = { call: 0, stream: 0, probe: 0 };
  readonly #fixedHeaders: () => readonly string[];

  constructor(options: HttpBackendOptions) {
    const { config, concurrency } = options;
    const url = new URL(config.url);
    this.name = config.name;
    this.config = config;
    this.credential = options.credential;
    this.authorizer = options.authorizer;
    this.health = options.health;
    this.deadlines = options.deadlines;
    this.keptBytes = options.keptBytes;
    this.now = options.now;
    this.maxResponseBytes = options.maxResponseBytes;
    this.#origin = url.origin;
    this.#path = url.pathname + url.search;
    this.#breaker = options.breaker;
    this.#limits = {
      call: concurrency.perBackend + concurrency.queue,
      stream: options.maxStreams,
      probe: Infinity,
    };
    this.#fixedHeaders = options.fixedHeaders;
    const pool: Pool.Options = {
      // Deadlines are ours: undici's would end quiet streams and slow tools.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: options.connectTimeout, ...(options.ca === undefined ? {} : { ca: options.ca }) },
    };
    const create = options.createPool ?? ((origin, settings) => new Pool(origin, settings));
    this.#createPool = (connections) => create(url.origin, { ...pool, connections });
    this.#calls = this.#createPool(concurrency.perBackend);
    this.#streams = this.#createPool(null);
  }

  /** Calls under way. */
  get running(): number {
    return this.#running.call;
  }

  send(call: BackendCall): RunningCall {
    const exchange = new HttpExchange(this, call);
    const load = loadOf(call);
    if (this.#running[load] >= this.#limits[load]) {
      exchange.fail(callFailure(this.name, 'busy', false));
    } else if (load === 'call' && !this.#breaker.admits()) {
      exchange.fail(callFailure(this.name, 'unavailable', false));
    } else {
      this.#running[load]++;
      exchange.load = load;
      exchange.arm();
      this.#authenticate(exchange, call.identity);
    }
    return exchange;
  }

  /** What was refused here says nothing of the backend. */
  settled(exchange: HttpExchange, failure: CallFailure | undefined): void {
    const { load } = exchange;
    if (load === undefined) return;
    this.#running[load]--;
    if (load === 'call') this.#breaker.record(failure);
  }

  renewCredential(exchange: HttpExchange): boolean {
    if (exchange.renewed || this.#isBare(exchange)) return false;
    if (!this.credential.invalidate(exchange.call.identity, exchange.credential)) return false;
    exchange.renewed = true;
    exchange.reset();
    exchange.arm();
    this.#authenticate(exchange, exchange.call.identity);
    return true;
  }

  refusal(exchange: HttpExchange, status: number): CallFailure {
    const { call } = exchange;
    // A request without a signature gets a 403 where others get a 401.
    if (status === 401 || (status === 403 && this.#isBare(exchange))) return this.#unauthorized(exchange);
    if (status === 404 && call.era === 'session') return callFailure(this.name, 'session_lost', false);
    // Another replica's stream of this session is not closed yet: it is tried again.
    if (status === 409 && call.verb === 'GET') return callFailure(this.name, 'unavailable', false);
    return callFailure(this.name, status >= 500 || status < 400 ? 'unavailable' : 'protocol', true);
  }

  resend(exchange: HttpExchange): boolean {
    // The keep-alive race: the backend closed an idle connection just as the request went out. It may have closed them all.
    if (exchange.attempts > 1 || !exchange.call.idempotent) return false;
    exchange.reset();
    exchange.needsFresh = true;
    exchange.arm();
    this.#authenticate(exchange, exchange.call.identity);
    return true;
  }

  retire(): Promise<void> {
    return this.#streams.destroy();
  }

  async close(): Promise<void> {
    this.credential.close();
    await Promise.all([this.#calls, this.#streams, ...this.#fresh].map((pool) => pool.destroy()));
  }

  #unauthorized(exchange: HttpExchange): CallFailure {
    const { call, credential } = exchange;
    const error = this.#isBare(exchange) ? undefined : this.credential.login?.refused(call.identity, credential);
    return error ? { reason: 'unauthorized', sent: false, error } : callFailure(this.name, 'unauthorized', false);
  }

  /** A probe of a backend whose credentials are callers' own goes without one. */
  #isBare({ load }: HttpExchange): boolean {
    return load === 'probe' && this.credential.perUser;
  }

  #authenticate(exchange: HttpExchange, identity: Identity): void {
    if (this.#isBare(exchange)) {
      this.#dispatch(exchange, BARE);
      return;
    }
    try {
      const headers = this.credential.headersFor(identity, exchange.call);
      if (headers instanceof Promise) {
        headers.then(
          (resolved) => this.#dispatch(exchange, resolved),
          (error: unknown) => this.#refuse(exchange, error),
        );
      } else {
        this.#dispatch(exchange, headers);
      }
    } catch (error) {
      this.#refuse(exchange, error);
    }
  }

  #refuse(exchange: HttpExchange, error: unknown): void {
    exchange.fail(
      error instanceof RequestError
        ? { reason: 'credential', sent: false, error }
        : callFailure(this.name, 'credential', false, error),
    );
  }

  #dispatch(exchange: HttpExchange, credential: CredentialHeaders): void {
    const { verb, body, headers, deadline } = exchange.call;
    exchange.credential = credential;
    const sent = (verb === 'GET' ? GET : POST).concat(headers, this.#fixedHeaders(), credential);
    const pool = exchange.needsFresh ? this.#freshPool() : deadline > 0 ? this.#calls : this.#streams;
    // The origin is for a proxy's dispatcher; a pool has its own.
    const request = { origin: this.#origin, path: this.#path, method: verb, headers: sent, body: body ?? null };
    pool.dispatch(request, exchange);
    if (!exchange.needsFresh) return;
    exchange.needsFresh = false;
    void pool.close().finally(() => this.#fresh.delete(pool));
  }

  /** A pool of one connection that nobody has used. */
  #freshPool(): Dispatcher {
    const pool = this.#createPool(1);
    this.#fresh.add(pool);
    return pool;
  }
}
