import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Flow } from '#runtime/mcp/backends/backend';
import { EVENT_OPENING, eventEnding } from '#runtime/mcp/sse/write-sse';

const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Tells buffering reverse proxies to forward each event at once.
  'x-accel-buffering': 'no',
};

/** Bytes of the gateway's own text, which it cannot pause. */
const MAX_UNREAD = 1_048_576;

const uncork = (socket: Socket): void => socket.uncork();

/** Sends one large JSON document to a client in parts. */
export class ClientDocument {
  readonly #res: ServerResponse;

  constructor(res: ServerResponse) {
    this.#res = res;
    res.writeHead(200, { 'content-type': 'application/json' });
  }

  /** `source` pauses until the client has caught up. */
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

  /** The client must not treat the parts as a complete document. */
  cut(): void {
    this.#res.destroy();
  }
}

/** Pauses the source while the client does not read. */
export class ClientStream {
  readonly #res: ServerResponse;
  readonly #held = new Set<Flow>();
  #draining = false;
  #isInEvent = false;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** The client sees an open connection before the first event, unless that event is there already. */
  open(): void {
    if (this.#res.headersSent) return;
    this.#res.writeHead(200, STREAM_HEADERS);
    const { socket } = this.#res;
    // Node itself gathers the writes of one tick, but not those that follow the headers.
    socket?.cork();
    this.#res.flushHeaders();
    if (socket) process.nextTick(uncork, socket);
  }

  /** Returns false if `source` pauses until the client has caught up. */
  write(text: string | Buffer, source?: Flow): boolean {
    if (this.#res.destroyed || this.#res.writableEnded || this.#res.write(text)) return true;
    if (source === undefined) {
      // The gateway's own text cannot pause, so a client that does not read is disconnected.
      if (this.#res.writableLength > MAX_UNREAD) this.#res.destroy();
      return true;
    }
    source.pause();
    this.#held.add(source);
    if (!this.#draining) this.#res.once('drain', () => this.#release());
    this.#draining = true;
    return false;
  }

  /** Takes data without line ends. Call `endEvent` before any other write. */
  writePart(parts: readonly Buffer[], source: Flow): void {
    if (!this.#isInEvent) this.write(EVENT_OPENING, source);
    this.#isInEvent = true;
    for (const part of parts) if (part.length > 0) this.write(part, source);
  }

  endEvent(fields: Parameters<typeof eventEnding>[0], source: Flow): void {
    this.#isInEvent = false;
    this.write(eventEnding(fields), source);
  }

  /** False: no event is open. */
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
