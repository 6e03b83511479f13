import type { Readable, Writable } from 'node:stream';
import { CLOSE_STDIN, PROTOCOLS, readMessage, toStdin } from './channels.ts';

/** Limit of bytes buffered towards the API server. At the limit, attach stops reading standard input. */
const MAX_WAITING = 1024 * 1024;
const LOOK_AGAIN = 10;
/** Limit of unread bytes of standard output. WebSocket has no backpressure, so attach gives the connection up there. */
const MAX_UNREAD = 128 * 1024 * 1024;
/** Milliseconds between the end of standard input and the end of the connection, for pending answers. */
const LAST_WORDS = 500;

export interface AttachSettings {
  /** `wss://` address of the pod's attach subresource, including its query. */
  readonly url: string;
  readonly token: string;
  readonly input: Readable;
  readonly output: Writable;
  /** Milliseconds within which the connection must open. */
  readonly deadline: number;
}

/** Joins two streams with standard input and output of a running container. @returns why it ended; undefined without a problem */
export function attach({ url, token, input, output, deadline }: AttachSettings): Promise<string | undefined> {
  const socket = new WebSocket(url, { protocols: PROTOCOLS, headers: { authorization: `Bearer ${token}` } });
  socket.binaryType = 'arraybuffer';
  return new Promise((resolve) => {
    let isOver = false;
    const end = (problem: string | undefined) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      input.pause();
      socket.close();
      resolve(problem);
    };
    const timer = setTimeout(() => end('the API server did not answer in time'), deadline);
    const send = (bytes: Buffer) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(new Uint8Array(bytes));
    };
    socket.addEventListener('open', () => {
      clearTimeout(timer);
      input.on('data', (bytes: Buffer) => {
        send(toStdin(bytes));
        if (socket.bufferedAmount > MAX_WAITING) holdUp(input, socket);
      });
      input.once('end', () => {
        if (socket.protocol === PROTOCOLS[0]) send(CLOSE_STDIN);
        setTimeout(() => end(undefined), LAST_WORDS).unref();
      });
    });
    socket.addEventListener('message', ({ data }) => {
      const message = readMessage(Buffer.from(data as ArrayBuffer));
      if (!message) return;
      if ('ended' in message) end(message.ended ?? 'the container ended');
      else if (output.writableLength > MAX_UNREAD) end('nobody reads what the container writes');
      else output.write(message.output);
    });
    // The event hides its cause from web pages, and does not contain the API server's answer.
    socket.addEventListener('error', () => end('the API server refused, or could not be reached'));
    socket.addEventListener('close', ({ reason }) => end(reason === '' ? 'the connection ended' : reason));
  });
}

/** Pauses the input until the socket has sent most of its buffer. */
function holdUp(input: Readable, socket: WebSocket): void {
  input.pause();
  const timer = setInterval(() => {
    if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount > MAX_WAITING / 2) return;
    clearInterval(timer);
    input.resume();
  }, LOOK_AGAIN);
}
