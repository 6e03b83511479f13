import { isIdText } from './message-id.ts';

interface MintedId {
  readonly backend: string;
  /** JSON text. It is safe to put into a message. */
  readonly idText: string;
}

const MAX_LENGTH = 8192;

const write = ({ backend, idText }: MintedId): string =>
  `${encodeURIComponent(backend.toWellFormed())}:${encodeURIComponent(idText.toWellFormed())}`;

/** Unique across backends; names the backend. The string needs no JSON escapes. */
export function mintRequestId(backend: string, idText: string): string {
  return write({ backend, idText });
}

/** Undefined: not this gateway's format. Grants no access, because the client may have invented the id. */
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
