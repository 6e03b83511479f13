// The API server's remote command protocol over WebSocket, v5.channel.k8s.io: the first byte of a message names its stream.

/** Sub-protocols, the newest first: with v5 standard input can be closed by itself. */
export const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

const STDIN = 0;
const STDOUT = 1;
const ERROR = 3;
const CLOSE = 255;

/** Bytes for standard input as one message. */
export function toStdin(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(STDIN), bytes]);
}

/** Says that standard input is at its end. Known from v5 on. */
export const CLOSE_STDIN = Buffer.of(CLOSE, STDIN);

/** What came of the container: bytes of its standard output, or how the connection ended. */
export type FromContainer = { output: Buffer } | { ended: string | undefined } | undefined;

/** A message that the API server sent. `ended` holds what went wrong; undefined: nothing did. */
export function readMessage(message: Buffer): FromContainer {
  const [channel] = message;
  const bytes = message.subarray(1);
  if (channel === STDOUT) return { output: bytes };
  if (channel === ERROR) return { ended: problemIn(bytes.toString('utf8')) };
  return undefined;
}

/** The message of a `metav1.Status`; undefined for success. */
function problemIn(text: string): string | undefined {
  try {
    const status: unknown = JSON.parse(text);
    if (typeof status !== 'object' || status === null) return text;
    if ('status' in status && status.status === 'Success') return undefined;
    return 'message' in status && typeof status.message === 'string' ? status.message : text;
  } catch {
    return text;
  }
}
