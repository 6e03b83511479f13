import { setTimeout as sleep } from 'node:timers/promises';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { request, type Dispatcher } from 'undici';
import { faultOf, readBytes } from '#runtime/http/read-answer';
import type { Log } from '#runtime/telemetry/log';

interface SenderSettings {
  readonly url: string;
  /** Called for each export: a secret may have changed. */
  readonly headers: () => Record<string, string>;
  readonly dispatcher: Dispatcher;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** Milliseconds for one export including its retries. */
const EXPORT_WITHIN = 5_000;
const FIRST_PAUSE = 500;
const MAX_ANSWER = 65_536;
/** OTLP/HTTP: statuses that allow a retry. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Result of one attempt: the number of accepted spans, or the reason of the failure with the milliseconds before a retry. */
type Attempt = { readonly taken: number } | { readonly fault: string; readonly again: number | false };

/** Sends spans by OTLP/HTTP, only as configured: the exporters of the library would read the environment. */
export class SpanSender {
  readonly #settings: SenderSettings;
  #isFailing = false;
  #closed: Promise<void> | undefined;

  constructor(settings: SenderSettings) {
    this.#settings = settings;
  }

  async send(spans: ReadableSpan[]): Promise<number> {
    const signal = AbortSignal.timeout(EXPORT_WITHIN);
    const end = performance.now() + EXPORT_WITHIN;
    for (let pause = FIRST_PAUSE; ; pause *= 2) {
      const attempt = await this.#attempt(spans, signal);
      if ('taken' in attempt) {
        this.#tell(undefined);
        return attempt.taken;
      }
      const wait = attempt.again === false ? Infinity : Math.max(attempt.again, pause);
      if (performance.now() + wait >= end) {
        this.#tell(attempt.fault);
        return 0;
      }
      await sleep(wait, undefined, { ref: false });
    }
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#settings.dispatcher.destroy());
  }

  async #attempt(spans: ReadableSpan[], signal: AbortSignal): Promise<Attempt> {
    const { url, dispatcher } = this.#settings;
    try {
      const body = ProtobufTraceSerializer.serializeRequest(spans);
      const headers = { ...this.#settings.headers(), 'content-type': 'application/x-protobuf', 'user-agent': 'vmcp' };
      const answer = await request(url, { method: 'POST', headers, body: body ?? null, dispatcher, signal });
      const said = await readBytes(answer.body as AsyncIterable<Buffer>, MAX_ANSWER);
      const { statusCode: status } = answer;
      if (status >= 200 && status < 300) return { taken: Math.max(0, spans.length - rejectedOf(said)) };
      const again = AGAIN.has(status) && millisecondsOf(answer.headers['retry-after']);
      return { fault: `it answered ${status}`, again };
    } catch (error) {
      return { fault: faultOf(error), again: signal.aborted || this.#closed !== undefined ? false : 0 };
    }
  }

  /** Logs once when exports begin to fail or succeed again; `vmcp_spans_total` has the counts. */
  #tell(fault: string | undefined): void {
    // The sender is no longer in use.
    if (this.#closed) return;
    const isFailing = fault !== undefined;
    const { log, url } = this.#settings;
    const collector = new URL(url).host;
    if (isFailing && !this.#isFailing)
      log.warn('spans are lost: the collector does not take them', { collector, fault });
    if (!isFailing && this.#isFailing) log.info('the collector takes spans again', { collector });
    this.#isFailing = isFailing;
  }
}

/** Returns the number of spans that a collector rejected in a partial success. Other answers count as none. */
function rejectedOf(answer: Uint8Array): number {
  if (answer.length === 0) return 0;
  try {
    return ProtobufTraceSerializer.deserializeResponse(answer).partialSuccess?.rejectedSpans ?? 0;
  } catch {
    return 0;
  }
}

function millisecondsOf(retryAfter: string | string[] | undefined): number {
  const seconds = Number(retryAfter);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}
