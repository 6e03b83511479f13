/** Other stream names are the JSON text of a request id. */
export const GENERAL = 'general';

export interface EventPosition {
  readonly backend: string;
  readonly stream: string;
  /** Empty if the event had no id. */
  readonly original: string;
}

const MAX_LENGTH = 2048;

/** encodeURIComponent always escapes `:`, the separator. The result is valid in a header and a URL. */
const write = (position: EventPosition): string =>
  [position.backend, position.stream, position.original]
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join(':');

/** Undefined if the id would be too long: then the event has none. */
export function encodeEventId(position: EventPosition): string | undefined {
  const text = write(position);
  return text.length > MAX_LENGTH ? undefined : text;
}

/** Undefined: the format does not match. Grants no access, because the client may have invented the id. */
export function decodeEventId(text: string): EventPosition | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const parts = text.split(':');
  if (parts.length !== 3) return undefined;
  try {
    const [backend = '', stream = '', original = ''] = parts.map((part) => decodeURIComponent(part));
    const position = { backend, stream, original };
    return write(position) === text ? position : undefined;
  } catch {
    return undefined;
  }
}
