import { ServerResponse, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** Takes what a room answers: one head, then the body in pieces, then the end. */
export interface AnswerTaker {
  /** `headers`: by their names in lower case. */
  head(status: number, headers: ReadonlyMap<string, string>): void;
  /** `more` is called when the next piece may come. */
  body(piece: Buffer, more: () => void): void;
  /** The answer is whole, or was cut off. */
  end(isWhole: boolean): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * An answer without a connection of its own: whatever answers a request over HTTP writes it as ever, and it goes where the taker
 * puts it.
 */
export function holdResponse(req: IncomingMessage, taker: AnswerTaker): ServerResponse {
  const res = new ServerResponse(req);
  // The body as it is, without the frames of a connection.
  res.useChunkedEncodingByDefault = false;
  res.shouldKeepAlive = false;
  const socket = new TakingSocket(res, taker);
  res.assignSocket(socket);
  socket.on('drain', () => res.emit('drain'));
  res.once('finish', () => socket.end());
  return res;
}

class TakingSocket extends Socket {
  readonly #res: ServerResponse;
  readonly #taker: AnswerTaker;
  #hasHead = false;
  #isWhole = false;

  constructor(res: ServerResponse, taker: AnswerTaker) {
    super({ allowHalfOpen: false });
    this.#res = res;
    this.#taker = taker;
    this.once('close', () => taker.end(this.#isWhole));
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    const body = this.#hasHead ? bytes : this.#takeHead(bytes);
    if (body.length === 0) done();
    else this.#taker.body(body, done);
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: () => void): void {
    const all = chunks.map(({ chunk, encoding }) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk));
    this._write(Buffer.concat(all), 'utf8', done);
  }

  override _final(done: () => void): void {
    this.#isWhole = true;
    done();
    this.destroy();
  }

  /** Node writes a head in one piece, with the first bytes of the body or without. */
  #takeHead(bytes: Buffer): Buffer {
    this.#hasHead = true;
    const end = bytes.indexOf(HEAD_END);
    const [, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
    this.#taker.head(this.#res.statusCode, new Map(lines.map(readField)));
    return bytes.subarray(end + HEAD_END.length);
  }
}

function readField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
