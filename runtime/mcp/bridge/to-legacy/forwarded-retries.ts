import { randomUUID } from 'node:crypto';
import { Quota, QuotaExceeded } from '#lib/limits/quota';
import type { AnswerSink } from '#runtime/mcp/backends/backend';
import { callFailure } from '#runtime/mcp/backends/failures';
import type { AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import { PendingRequest } from './pending-request.ts';
import { callLost, retryTooLarge } from './input-required.ts';
import type { RetryEvent } from './retry-event.ts';

/** Milliseconds in which the replica with the call answers. */
const TAKEN_WITHIN = 2_000;
/** Milliseconds without a sign of that replica after which it is lost. */
const LOST_AFTER = 10_000;
const SIGN_EVERY = 3_000;
/** Redis disconnects subscribers that lag behind by more. */
const MAX_BYTES = 4_194_304;
const MAX_FORWARDED = 10_000;
const MAX_OF_PRINCIPAL = 256;

interface Forwarded {
  readonly request: PendingRequest;
  readonly leave: () => void;
  timer: NodeJS.Timeout;
}

type Tell = (event: RetryEvent) => void;

/** Retries whose call waits at another replica. */
export class ForwardedRetries {
  readonly #tell: Tell;
  readonly #waiting = new Map<string, Forwarded>();
  readonly #quota = new Quota({ total: MAX_FORWARDED, perKey: MAX_OF_PRINCIPAL });

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  forward(request: PendingRequest, call: string): void {
    const { body } = request.message;
    const leave = this.#enter(request);
    if (!leave) return;
    const retry = randomUUID();
    const ignore = () => undefined;
    request.host = { isHeld: false, pause: ignore, resume: ignore, left: () => this.#left(retry) };
    this.#waiting.set(retry, { request, leave, timer: this.#lostAfter(retry, TAKEN_WITHIN) });
    this.#tell({ type: 'retry', retry, call, body: body.toString('utf8') });
  }

  #enter(request: PendingRequest): (() => void) | undefined {
    const { identity, source = '' } = request.call;
    if (request.message.body.length > MAX_BYTES) {
      request.deliver(retryTooLarge);
      return undefined;
    }
    try {
      return this.#quota.take(`${identity.key}\n${source}`);
    } catch (error) {
      if (!(error instanceof QuotaExceeded)) throw error;
      request.deliver({ failure: callFailure(request.backend, 'busy', false) });
      return undefined;
    }
  }

  /** Takes what the replica with the call says. */
  take(event: RetryEvent): void {
    const forwarded = this.#waiting.get(event.retry);
    if (!forwarded) return;
    const { request } = forwarded;
    if (event.type === 'retry_taken' || event.type === 'retry_notified') {
      clearTimeout(forwarded.timer);
      forwarded.timer = this.#lostAfter(event.retry, LOST_AFTER);
      if (event.type === 'retry_notified') request.relay(event.data);
    } else if (event.type === 'retry_answered') {
      this.#forget(event.retry);
      request.answer({ status: event.status, body: Buffer.from(event.body), kind: event.kind });
    } else if (event.type === 'retry_failed') {
      this.#forget(event.retry);
      request.deliver({ failure: callFailure(request.backend, event.reason, event.sent) });
    }
  }

  #lostAfter(retry: string, milliseconds: number): NodeJS.Timeout {
    const lost = () => {
      const request = this.#waiting.get(retry)?.request;
      this.#forget(retry);
      request?.deliver(callLost);
    };
    return setTimeout(lost, milliseconds).unref();
  }

  #left(retry: string): void {
    this.#forget(retry);
    this.#tell({ type: 'retry_left', retry });
  }

  #forget(retry: string): void {
    const forwarded = this.#waiting.get(retry);
    if (!forwarded) return;
    clearTimeout(forwarded.timer);
    forwarded.leave();
    this.#waiting.delete(retry);
  }
}

/** Retries of calls that wait here, which other replicas received. */
export class TakenRetries {
  readonly #tell: Tell;
  readonly #requests = new Map<string, PendingRequest>();

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  /** Returns the request of a retry, whose answers go to the other replica. Undefined: it waits here already. */
  take(
    { retry, body }: Extract<RetryEvent, { type: 'retry' }>,
    { call, backend }: Pick<PendingRequest, 'call' | 'backend'>,
  ): PendingRequest | undefined {
    if (this.#requests.has(retry)) return undefined;
    const { id } = JSON.parse(body) as { id: unknown };
    const sign = () => this.#tell({ type: 'retry_taken', retry });
    const timer = setInterval(sign, SIGN_EVERY).unref();
    const sink = new RemoteSink(retry, this.#tell, () => {
      clearInterval(timer);
      this.#requests.delete(retry);
    });
    const request = new PendingRequest({ ...call, idText: JSON.stringify(id), body: Buffer.from(body), sink }, backend);
    this.#requests.set(retry, request);
    sign();
    return request;
  }

  left(retry: string): void {
    const request = this.#requests.get(retry);
    if (!request) return;
    request.abort();
    request.call.sink.close(false);
  }
}

/** Sends the answer to a retry to the replica that received it. */
class RemoteSink implements AnswerSink {
  readonly #retry: string;
  readonly #tell: Tell;
  readonly #over: () => void;

  constructor(retry: string, tell: Tell, over: () => void) {
    this.#retry = retry;
    this.#tell = tell;
    this.#over = over;
  }

  json(status: number, body: Buffer, kind: AnswerKind): void {
    const retry = this.#retry;
    if (body.length > MAX_BYTES) this.#tell({ type: 'retry_failed', retry, reason: 'too_large', sent: true });
    else this.#tell({ type: 'retry_answered', retry, status, body: body.toString('utf8'), kind });
    this.#over();
  }

  accepted(): void {
    this.#over();
  }

  open(): void {
    // The first notification opens the client's stream.
  }

  event({ data, message }: Parameters<AnswerSink['event']>[0]): void {
    if (message?.kind === 'response') this.json(200, Buffer.from(data), message.answerKind);
    else if (data.length <= MAX_BYTES) this.#tell({ type: 'retry_notified', retry: this.#retry, data });
  }

  close(): void {
    this.#over();
  }

  fail({ reason, sent }: Parameters<AnswerSink['fail']>[0]): void {
    this.#tell({ type: 'retry_failed', retry: this.#retry, reason, sent });
    this.#over();
  }
}
