// Kubernetes remote command protocol over WebSocket (v5.channel.k8s.io): the first byte of a message is its channel.

/** Sub-protocols, newest first. Only v5 can close standard input alone. */
export const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

const STDIN = 0;
const STDOUT = 1;
const ERROR = 3;
const CLOSE = 255;

export function toStdin(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(STDIN), bytes]);
}

/** Message that closes standard input. Requires v5. */
export const CLOSE_STDIN = Buffer.of(CLOSE, STDIN);

/** `ended` holds the problem; undefined: none. */
export type FromContainer = { output: Buffer } | { ended: string | undefined } | undefined;

export function readMessage(message: Buffer): FromContainer {
  const [channel] = message;
  const bytes = message.subarray(1);
  if (channel === STDOUT) return { output: bytes };
  if (channel === ERROR) return { ended: problemIn(bytes.toString('utf8')) };
  return undefined;
}

/** Returns the message of a `metav1.Status`; undefined for success. */
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
