/** From where a client resumes: which backend's stream, and after which of its events. */
export interface EventPosition {
  readonly backend: string;
  /** Which stream of the backend, e.g. the text of a request's id. */
  readonly stream: string;
  /** The backend's own event id; empty where it gave none. */
  readonly original: string;
}

const MAX_LENGTH = 2048;

/** `:` is what encodeURIComponent always escapes, so it parts the three; what is left can stand in a header and a URL. */
const write = (position: EventPosition): string =>
  [position.backend, position.stream, position.original]
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join(':');

/** The event id for the client. Undefined where it would be too long: then the event goes out without one. */
export function encodeEventId(position: EventPosition): string | undefined {
  const text = write(position);
  return text.length > MAX_LENGTH ? undefined : text;
}

/** What a client's Last-Event-ID says. Undefined: no id of ours. The client may have made it up: it grants nothing. */
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
