import { lookup } from 'node:dns/promises';
import { Pool, type Dispatcher } from 'undici';
import type { HttpBackend as HttpBackendConfig } from '#crds/run-config/backend';
import { RequestError } from '#runtime/errors';
import { trustAlso } from '#runtime/http/trust-also';
import type { Identity } from '#runtime/incoming/identity';
import type { CredentialHeaders } from '#runtime/outgoing/credential';
import type { Backend, BackendCall, RunningCall } from './backend.ts';
import type { BackendParts } from './backend-parts.ts';
import { BackendPods, type LookUp } from './backend-pods.ts';
import { ConfiguredBackend } from './configured-backend.ts';
import { callFailure, connectionFailure, type CallFailure } from './failures.ts';
import { HttpExchange, type ExchangeHost, type Load } from './http-exchange.ts';

export interface HttpBackendOptions extends BackendParts {
  readonly config: HttpBackendConfig;
  readonly connectTimeout: number;
  readonly maxStreams: number;
  /** PEM, in addition to the default authorities. */
  readonly ca: string | undefined;
  /** Flat list of the `header_forward` headers, with values from their files. */
  readonly fixedHeaders: () => readonly string[];
  readonly createPool?: (origin: string, options: Pool.Options) => Dispatcher;
  /** Absent: the resolver of this machine. */
  readonly lookUp?: LookUp | undefined;
}

const lookUpHere: LookUp = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Streams stay open as long as their readers, so they and one-way messages use neither the limit of calls nor the breaker's trial. */
function loadOf({ deadline, isProbe, isOneWay }: BackendCall): Load {
  if (isProbe) return 'probe';
  if (isOneWay) return 'message';
  return deadline > 0 ? 'call' : 'stream';
}

/** Servers without POST answer 501 Not Implemented, which is permanent. */
function isPassing(status: number): boolean {
  return (status >= 300 && status < 400) || (status >= 500 && status !== 501);
}

const POST = ['content-type', 'application/json', 'accept', 'application/json, text/event-stream'];
const GET = ['accept', 'text/event-stream'];
const BARE: CredentialHeaders = [];

/** `concat` is slow if lists differ in kind, such as frozen or empty ones. */
function joined(lists: readonly (readonly string[])[]): string[] {
  const all: string[] = [];
  for (const list of lists) if (list.length > 0) all.push(...list);
  return all;
}

/** Uses several pools: open streams, and calls that wait for their clients, must not use up the connections of calls. */
export class HttpBackend extends ConfiguredBackend<HttpBackendConfig> implements Backend, ExchangeHost {
  readonly maxResponseBytes: number;
  readonly #origin: string;
  readonly #path: string;
  readonly #createPool: (connections: number | null) => Dispatcher;
  readonly #fresh = new Set<Dispatcher>();
  readonly #calls: Dispatcher;
  readonly #streams: Dispatcher;
  /** For calls that may wait for their client. Unlike streams, they outlast a replaced configuration. */
  readonly #parkable: Dispatcher;
  /** Undefined: the backend has a single address. */
  readonly #pods: BackendPods | undefined;
  readonly #host: readonly string[];
  readonly #limits: Readonly<Record<Load, number>>;
  readonly #running: Record<Load, number> = { call: 0, stream: 0, message: 0, probe: 0, parked: 0 };
  readonly #fixedHeaders: () => readonly string[];
  #isRetired = false;

  constructor(options: HttpBackendOptions) {
    const { config, concurrency } = options;
    super(options);
    const url = new URL(config.url);
    this.maxResponseBytes = options.maxResponseBytes;
    this.#origin = url.origin;
    this.#path = url.pathname + url.search;
    this.#limits = {
      call: concurrency.perBackend + concurrency.queue,
      stream: options.maxStreams,
      message: options.maxStreams,
      probe: Infinity,
      parked: Infinity,
    };
    this.#fixedHeaders = options.fixedHeaders;
    const connect = { timeout: options.connectTimeout, ...trustAlso(options.ca) };
    // The gateway has its own deadlines. undici's would end quiet streams and slow tools.
    const pool: Pool.Options = { headersTimeout: 0, bodyTimeout: 0, connect };
    const create = options.createPool ?? ((origin, settings) => new Pool(origin, settings));
    this.#createPool = (connections) => create(url.origin, { ...pool, connections });
    this.#calls = this.#createPool(concurrency.perBackend);
    this.#streams = this.#createPool(null);
    this.#parkable = this.#createPool(null);
    this.#host = ['host', url.host];
    if (config.pods_host === undefined) return;
    // Certificates and virtual hosts use the backend's name, not the pod's address.
    const ofName = url.protocol === 'https:' ? { ...connect, servername: url.hostname } : connect;
    this.#pods = new BackendPods({
      ...{ host: config.pods_host, url, now: options.now, connections: concurrency.perBackend },
      lookUp: options.lookUp ?? lookUpHere,
      createPool: (origin, connections) => create(origin, { ...pool, connect: ofName, connections }),
    });
  }

  pickAddress(): Promise<string | undefined> | undefined {
    return this.#pods?.pick();
  }

  get running(): number {
    return this.#running.call;
  }

  oldestCall(): number {
    return this.deadlines.oldest((entry) => entry instanceof HttpExchange && entry.load === 'call' && entry.isAt(this));
  }

  send(call: BackendCall): RunningCall {
    const exchange = new HttpExchange(this, this.translate(call));
    const load = loadOf(call);
    if (this.#running[load] >= this.#limits[load]) {
      exchange.fail(callFailure(this.name, 'busy', false));
    } else if (load === 'call' && !this.breaker.admits()) {
      exchange.fail(callFailure(this.name, 'breaker_open', false));
    } else {
      this.#running[load]++;
      exchange.load = load;
      exchange.arm();
      this.#authenticate(exchange, call.identity);
    }
    return exchange;
  }

  /** The breaker does not count an exchange that the gateway refused. */
  settled(exchange: HttpExchange, failure: CallFailure | undefined): void {
    const { load } = exchange;
    if (load === undefined) return;
    this.#running[load]--;
    if (load === 'call') this.breaker.record(failure);
  }

  parked(exchange: HttpExchange, isParked: boolean): void {
    if (exchange.load !== (isParked ? 'call' : 'parked')) return;
    this.#running[exchange.load]--;
    exchange.load = isParked ? 'parked' : 'call';
    this.#running[exchange.load]++;
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
    // Some servers answer 403 instead of 401 to a request without a signature.
    if (status === 401 || (status === 403 && this.#isBare(exchange))) return this.#unauthorized(exchange);
    if (status === 404 && call.era === 'legacy') return callFailure(this.name, 'session_lost', false);
    // Another replica's stream of this session is still open, so the gateway tries again.
    if (status === 409 && call.verb === 'GET') return callFailure(this.name, 'unavailable', false);
    return { ...callFailure(this.name, isPassing(status) ? 'http_error' : 'protocol', true), status };
  }

  broken({ call }: HttpExchange, sent: boolean, cause: unknown): CallFailure {
    // The pod no longer exists, and its session state is lost.
    const isGone = !sent && call.address !== undefined && this.#pods?.avoid(call.address) === true;
    return isGone ? callFailure(this.name, 'session_lost', sent, cause) : connectionFailure(this.name, sent, cause);
  }

  resend(exchange: HttpExchange, sent: boolean): boolean {
    // A pod that refuses connections is gone, so another pod is tried.
    if (!sent && exchange.call.address !== undefined) return false;
    // The backend may close idle connections just as the request is sent (keep-alive race).
    if (exchange.attempts > 1 || !exchange.call.idempotent) return false;
    exchange.reset();
    exchange.needsFresh = true;
    exchange.arm();
    this.#authenticate(exchange, exchange.call.identity);
    return true;
  }

  async retire(): Promise<void> {
    this.#isRetired = true;
    await Promise.all([this.#streams.destroy(), this.#pods?.retire()]);
  }

  async close(): Promise<void> {
    const pools = [this.#calls, this.#streams, this.#parkable, ...this.#fresh];
    await Promise.all([this.closeParts(), ...pools.map((pool) => pool.destroy())]);
    await this.#pods?.close();
  }

  #unauthorized(exchange: HttpExchange): CallFailure {
    const { call, credential } = exchange;
    const error = this.#isBare(exchange) ? undefined : this.credential.login?.refused(call.identity, credential);
    return error ? { reason: 'unauthorized', sent: false, error } : callFailure(this.name, 'unauthorized', false);
  }

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
        const step = exchange.call.trace?.begin('credential');
        headers.then(
          (resolved) => {
            step?.end();
            this.#dispatch(exchange, resolved);
          },
          (error: unknown) => {
            step?.end('credential');
            this.#refuse(exchange, error);
          },
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
    const { headers, address, verb } = exchange.call;
    exchange.credential = credential;
    const sent = joined([verb === 'GET' ? GET : POST, headers, this.#fixedHeaders(), credential]);
    if (address !== undefined && this.#pods) this.#dispatchToPod(address, this.#pods, exchange, sent);
    else this.#dispatchTo(exchange, this.#origin, this.#poolFor(exchange), sent);
  }

  #dispatchTo(exchange: HttpExchange, origin: string, pool: Dispatcher, headers: string[]): void {
    const { verb, body, path = this.#path } = exchange.call;
    // The origin is for a proxy's dispatcher; a pool has its own.
    pool.dispatch({ origin, path, method: verb, headers, body: body ?? null }, exchange);
    if (!exchange.needsFresh) return;
    exchange.needsFresh = false;
    void pool.close().finally(() => this.#fresh.delete(pool));
  }

  /** Other pods do not know the session, and a new owner of the address must not receive the request. */
  #dispatchToPod(address: string, pods: BackendPods, exchange: HttpExchange, headers: string[]): void {
    const dispatch = () => {
      if (!pods.has(address)) exchange.fail(callFailure(this.name, 'session_lost', false));
      else
        this.#dispatchTo(exchange, pods.originOf(address), this.#poolFor(exchange, pods), headers.concat(this.#host));
    };
    // Another replica may have discovered a new pod first.
    if (pods.has(address)) dispatch();
    else void pods.look().then(dispatch);
  }

  #poolFor({ call, load, needsFresh }: HttpExchange, pods?: BackendPods): Dispatcher {
    const { address = '' } = call;
    if (!needsFresh) {
      // Calls that began before the backend was retired still send messages.
      const isStream = (load === 'stream' || load === 'message') && !this.#isRetired;
      const otherwise = call.mayPark === true ? 'parkable' : 'calls';
      if (pods) return pods.poolOf(address, isStream ? 'streams' : otherwise);
      if (isStream) return this.#streams;
      return call.mayPark === true ? this.#parkable : this.#calls;
    }
    const pool = pods?.freshPool(address) ?? this.#createPool(1);
    this.#fresh.add(pool);
    return pool;
  }
}
