import { connect, type Socket } from 'node:net';

const HEADER_END = Buffer.from('\r\n\r\n');
const CHUNKED_END = Buffer.from('0\r\n\r\n');

export interface HttpAnswer {
  status: number;
  /** Header and body as received; undefined unless the caller asked to keep them. */
  raw: Buffer | undefined;
}

/**
 * A keep-alive connection that only sends prepared bytes and finds the end of each answer. The load generator must be
 * much cheaper than the server under test.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #done: ((answer: HttpAnswer) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;
  #keep: Buffer[] | undefined;
  #status = 0;
  #remaining = -1;
  #tail: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
    });
    socket.on('error', (error) => {
      this.#abort(error);
    });
    socket.on('close', () => {
      this.#abort(new Error('connection closed'));
    });
  }

  static async open(host: string, port: number): Promise<HttpConnection> {
    const socket = connect({ host, port });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new HttpConnection(socket);
  }

  /** Sends one request. The connection must have no other request in flight. */
  send(bytes: Buffer, keep: boolean, done: (answer: HttpAnswer) => void, fail: (error: Error) => void): void {
    this.#done = done;
    this.#fail = fail;
    this.#keep = keep ? [] : undefined;
    this.#status = 0;
    this.#tail = Buffer.alloc(0);
    if (this.#socket.destroyed) this.#abort(new Error('connection closed'));
    else this.#socket.write(bytes);
  }

  /** Aborts the request in flight, which fails. */
  abandon(): void {
    this.#socket.destroy(new Error(`no answer; so far: ${String(this.#status)} ${String(this.#remaining)}`));
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #abort(error: Error): void {
    const fail = this.#fail;
    this.#done = undefined;
    this.#fail = undefined;
    if (fail) setImmediate(fail, error);
  }

  #receive(chunk: Buffer): void {
    this.#keep?.push(chunk);
    if (this.#status === 0) this.#readHead(chunk);
    else this.#readBody(chunk);
  }

  #readHead(chunk: Buffer): void {
    const bytes = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk]);
    const end = bytes.indexOf(HEADER_END);
    if (end === -1) {
      this.#tail = bytes;
      return;
    }
    const head = bytes.toString('latin1', 0, end);
    this.#status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    this.#remaining = length === undefined ? -1 : Number(length);
    this.#tail = Buffer.alloc(0);
    this.#readBody(bytes.subarray(end + 4));
  }

  #readBody(chunk: Buffer): void {
    if (this.#remaining >= 0) {
      this.#remaining -= chunk.length;
      if (this.#remaining === 0) this.#finish();
      return;
    }
    const last = chunk.length >= 5 ? chunk : Buffer.concat([this.#tail, chunk]);
    this.#tail = last.subarray(-5);
    if (this.#tail.equals(CHUNKED_END)) this.#finish();
  }

  #finish(): void {
    const raw = this.#keep === undefined ? undefined : Buffer.concat(this.#keep);
    const done = this.#done;
    this.#done = undefined;
    this.#fail = undefined;
    done?.({ status: this.#status, raw });
  }
}

/** Parses the JSON body of a kept answer: plain, chunked, or the last event of a stream. */
export function readJson(raw: Buffer): unknown {
  const end = raw.indexOf(HEADER_END);
  const head = raw.toString('latin1', 0, end).toLowerCase();
  const body = head.includes('transfer-encoding: chunked')
    ? joinChunks(raw.subarray(end + 4))
    : raw.toString('utf8', end + 4);
  const events = body.split('\n').filter((line) => line.startsWith('data: {'));
  return JSON.parse(events.at(-1)?.slice(6) ?? body);
}

function joinChunks(bytes: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (!(size > 0)) return Buffer.concat(parts).toString();
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 4 + size;
  }
}
