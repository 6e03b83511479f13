import { isIdText } from './message-id.ts';

/** The request that a client answers. */
interface MintedId {
  readonly backend: string;
  /** JSON text of the backend's own id, including its type. It is safe to put into a message. */
  readonly idText: string;
}

const MAX_LENGTH = 8192;

const write = ({ backend, idText }: MintedId): string =>
  `${encodeURIComponent(backend.toWellFormed())}:${encodeURIComponent(idText.toWellFormed())}`;

/**
 * Returns the id under which a backend's request is sent to the client. It is unique across backends and names the
 * backend. The string needs no JSON escapes: its JSON text is the id in quotes.
 */
export function mintRequestId(backend: string, idText: string): string {
  return write({ backend, idText });
}

/**
 * Decodes the id in a client's answer. Undefined: this gateway format does not match. The id grants no access, because
 * the client may have invented it.
 */
export function readMintedId(id: string | number): MintedId | undefined {
  if (typeof id !== 'string' || id.length > MAX_LENGTH) return undefined;
  const [backendPart, idPart, ...more] = id.split(':');
  if (backendPart === undefined || idPart === undefined || more.length > 0) return undefined;
  try {
    const minted = { backend: decodeURIComponent(backendPart), idText: decodeURIComponent(idPart) };
    // The id text becomes part of a message to the backend.
    return isIdText(minted.idText) && write(minted) === id ? minted : undefined;
  } catch {
    return undefined;
  }
}
