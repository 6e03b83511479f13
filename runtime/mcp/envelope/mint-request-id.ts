import { isIdText } from './message-id.ts';

/** Whose request a client answers. */
interface MintedId {
  readonly backend: string;
  /** JSON text of the backend's own id, its type included; safe to put into a message. */
  readonly idText: string;
}

const MAX_LENGTH = 8192;

const write = ({ backend, idText }: MintedId): string =>
  `${encodeURIComponent(backend.toWellFormed())}:${encodeURIComponent(idText.toWellFormed())}`;

/**
 * The id under which a backend's request goes to the client. Two backends' ids never meet, and the answer names its backend by
 * itself. A string that needs no escapes in JSON: its text is the id between quotes.
 */
export function mintRequestId(backend: string, idText: string): string {
  return write({ backend, idText });
}

/** Reads the id of a client's answer. Undefined: not minted here. It grants nothing: the client may have made it up. */
export function readMintedId(id: string | number): MintedId | undefined {
  if (typeof id !== 'string' || id.length > MAX_LENGTH) return undefined;
  const [backendPart, idPart, ...more] = id.split(':');
  if (backendPart === undefined || idPart === undefined || more.length > 0) return undefined;
  try {
    const minted = { backend: decodeURIComponent(backendPart), idText: decodeURIComponent(idPart) };
    // This goes into a message for the backend.
    return isIdText(minted.idText) && write(minted) === id ? minted : undefined;
  } catch {
    return undefined;
  }
}
