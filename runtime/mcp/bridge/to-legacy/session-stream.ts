import type { Identity } from '#runtime/incoming/identity';
import type { AnswerSink, Backend, RunningCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { mayBeAway, type CallFailure } from '#runtime/mcp/backends/failures';
import { backendSessionHeaders } from '#runtime/mcp/sessions/open-backend-session';
import type { BackendSession } from '#runtime/mcp/sessions/session';

/** Milliseconds. */
const FIRST_RETRY = 1_000;
const LEAST_RETRY = 500;
const LAST_RETRY = 30_000;
const OPENS_WITHIN = 1_000;

interface StreamHost {
  readonly backend: Backend;
  identity(): Identity;
  readonly target: BackendSession;
  /** Receives a message that the backend sends outside of its answers. */
  take(event: StreamEvent): void;
  /** The stream is open again. Messages since its end may be missed. */
  missed(): void;
  /** The backend no longer knows the session, as it was restarted. */
  lost(): void;
}

/** The backend's own stream of a session (GET). It is opened again after each end. */
export class SessionStream {
  /** Settles when the backend has accepted or refused the stream, at the latest after a second. */
  readonly opened: Promise<void>;
  readonly #host: StreamHost;
  #timer: NodeJS.Timeout | undefined;
  #tell: () => void = () => undefined;
  #running: RunningCall | undefined;
  #again: NodeJS.Timeout | undefined;
  #lastId: string | undefined;
  #retry = FIRST_RETRY;
  #failures = 0;
  #wasOpen = false;
  #isOver = false;

  constructor(host: StreamHost) {
    this.#host = host;
    this.opened = new Promise((resolve) => {
      this.#tell = resolve;
    });
    this.#timer = setTimeout(this.#tell, OPENS_WITHIN).unref();
    this.#connect();
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#again);
    this.#settle();
    this.#running?.abort();
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tell();
  }

  #connect(): void {
    const { backend, target } = this.#host;
    const resume = this.#lastId === undefined ? [] : ['last-event-id', this.#lastId];
    this.#running = backend.send({
      identity: this.#host.identity(),
      era: 'legacy',
      method: 'GET',
      idText: undefined,
      verb: 'GET',
      body: undefined,
      headers: backendSessionHeaders(target).concat(resume),
      address: target.address,
      deadline: 0,
      idempotent: false,
      sink: this.#sink(),
    });
  }

  #sink(): AnswerSink {
    const ignore = () => undefined;
    return {
      json: ignore,
      accepted: ignore,
      open: () => {
        this.#failures = 0;
        if (this.#wasOpen && this.#lastId === undefined) this.#host.missed();
        this.#wasOpen = true;
        this.#settle();
      },
      event: (event) => {
        this.#lastId = event.id ?? this.#lastId;
        this.#retry = Math.max(event.retry ?? this.#retry, LEAST_RETRY);
        if (!this.#isOver) this.#host.take(event);
      },
      close: () => this.#later(),
      fail: (failure) => this.#failed(failure),
    };
  }

  #failed(failure: CallFailure): void {
    this.#settle();
    if (this.#isOver) return;
    // Other failures, such as the status 405, mean that the backend has no such stream. Some backends answer 404.
    if (failure.reason === 'session_lost' && this.#wasOpen) this.#host.lost();
    else if (mayBeAway(failure) || failure.reason === 'timeout') this.#later();
    // A failed exchange holds several KiB, and the session may stay for long.
    this.#running = undefined;
  }

  #later(): void {
    if (this.#isOver) return;
    const delay = Math.min(this.#retry * 2 ** Math.min(this.#failures, 5), LAST_RETRY);
    this.#failures += 1;
    this.#again = setTimeout(() => this.#connect(), delay).unref();
  }
}
