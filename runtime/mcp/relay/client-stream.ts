import type { ServerResponse } from 'node:http';
import type { Flow } from '#runtime/mcp/backends/backend';
import { EVENT_OPENING, eventEnding } from '#runtime/mcp/sse/write-sse';

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Tells buffering reverse proxies to let each event through at once.
  'x-accel-buffering': 'no',
};

/** Bytes that may wait for a client, beyond what it is held back for. */
const MAX_UNREAD = 1_048_576;

/** One large JSON document to a client, in parts as they come. */
export class ClientDocument {
  readonly #res: ServerResponse;

  constructor(res: ServerResponse) {
    this.#res = res;
    res.writeHead(200, { 'content-type': 'application/json' });
  }

  /** `source` is held back until the client has caught up. */
  write(parts: readonly Buffer[], source: Flow): void {
    if (this.#res.destroyed) return;
    let isFull = false;
    for (const part of parts) if (part.length > 0) isFull = !this.#res.write(part);
    if (!isFull) return;
    source.pause();
    this.#res.once('drain', () => source.resume());
  }

  end(): void {
    this.#res.end();
  }

  /** The connection breaks, so that nobody takes what came for the whole. */
  cut(): void {
    this.#res.destroy();
  }
}

/** A stream of events to a client. Whoever feeds it is held back while the client does not read. */
export class ClientStream {
  readonly #res: ServerResponse;
  readonly #held = new Set<Flow>();
  #draining = false;
  /** An event is open, and its data comes in pieces. */
  #isInEvent = false;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** Sends the headers, so that the client knows that it is connected before there is an event. */
  open(): void {
    if (this.#res.headersSent) return;
    this.#res.writeHead(200, STREAM_HEADERS);
    this.#res.flushHeaders();
  }

  /** Writes text or bytes in the wire form of events. `source` is held back until the client has caught up: false. */
  write(text: string | Buffer, source?: Flow): boolean {
    if (this.#res.destroyed || this.#res.writableEnded || this.#res.write(text)) return true;
    if (source === undefined) {
      // What the gateway says by itself cannot be held back: a client that reads nothing is let go.
      if (this.#res.writableLength > MAX_UNREAD) this.#res.destroy();
      return true;
    }
    source.pause();
    this.#held.add(source);
    if (!this.#draining) this.#res.once('drain', () => this.#release());
    this.#draining = true;
    return false;
  }

  /** Some bytes of the data of an event, which hold no line ends. Nothing else may be written before `endEvent`. */
  writePart(parts: readonly Buffer[], source: Flow): void {
    if (!this.#isInEvent) this.write(EVENT_OPENING, source);
    this.#isInEvent = true;
    for (const part of parts) if (part.length > 0) this.write(part, source);
  }

  endEvent(fields: Parameters<typeof eventEnding>[0], source: Flow): void {
    this.#isInEvent = false;
    this.write(eventEnding(fields), source);
  }

  /** Breaks the connection in the middle of an event. False: there is none. */
  cutEvent(): boolean {
    if (this.#isInEvent) this.#res.destroy();
    return this.#isInEvent;
  }

  end(): void {
    if (!this.#res.writableEnded) this.#res.end();
  }

  #release(): void {
    this.#draining = false;
    const held = [...this.#held];
    this.#held.clear();
    for (const source of held) source.resume();
  }
}
