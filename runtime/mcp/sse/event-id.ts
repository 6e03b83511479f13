/** The name of the backend's own stream in event ids. All other names are the JSON text of a request id. */
export const GENERAL = 'general';

/** The position from which a client resumes: a backend's stream, and the last event received. */
export interface EventPosition {
  readonly backend: string;
  /** Identifies the stream of the backend, e.g. the text of a request's id. */
  readonly stream: string;
  /** The backend's own event id; empty if the event had none. */
  readonly original: string;
}

const MAX_LENGTH = 2048;

/**
 * encodeURIComponent always escapes `:`, so it separates the three parts. The result is valid in a header and a URL.
 */
const write = (position: EventPosition): string =>
  [position.backend, position.stream, position.original]
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join(':');

/** Returns the event id for the client. Undefined if it would be too long: then the event has no id. */
export function encodeEventId(position: EventPosition): string | undefined {
  const text = write(position);
  return text.length > MAX_LENGTH ? undefined : text;
}

/**
 * Decodes a client's Last-Event-ID. Undefined: the format does not match. The id grants no access, because the client
 * may have invented it.
 */
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
