import { ServerResponse, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** Called with one head, then the body in pieces, then the end. */
export interface AnswerTaker {
  /** Names in lower case. */
  head(status: number, headers: ReadonlyMap<string, string>): void;
  /** `more` requests the next piece. */
  body(piece: Buffer, more: () => void): void;
  end(isWhole: boolean): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Handlers write as usual, and the bytes go to the taker. */
export function holdResponse(req: IncomingMessage, taker: AnswerTaker): ServerResponse {
  const res = new ServerResponse(req);
  // The plain body, without the chunks of a connection.
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

  /** Node writes the head in one piece, with or without the first bytes of the body. */
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
