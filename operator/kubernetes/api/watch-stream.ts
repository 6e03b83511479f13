import type { Semaphore } from '#lib/limits/semaphore';
import { BOUNDS } from '#operator/memory-bounds';
import { ApiError } from './api-error.ts';
import type { KubeObject } from './object.ts';
import { errorOf, StatusAnswer } from './read-error.ts';

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** For a bookmark, only `metadata.resourceVersion` is set. */
  object: KubeObject;
}

const { line: LONGEST_LINE, shortText: SHORT } = BOUNDS.api;
const LINE_FEED = 10;

/**
 * Yields one event per line. A long line waits until few other long texts are being read. Passes on errors of the stream.
 * @throws ApiError for an `ERROR` event (with its status) and an unreadable line (`InvalidAnswer`: list again, a change may be lost)
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  resource: string,
  longTexts: Semaphore,
): AsyncGenerator<WatchEvent, void, void> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let release: (() => void) | undefined;
  try {
    for await (const chunk of body) {
      const end = chunk.lastIndexOf(LINE_FEED);
      if (end >= 0) {
        const text = Buffer.concat([...parts, chunk.subarray(0, end)]).toString('utf8');
        [parts, length] = [[], 0];
        release?.();
        release = undefined;
        yield* eventsIn(text, resource);
      }
      const rest = chunk.subarray(end + 1);
      parts.push(rest);
      length += rest.length;
      if (length > LONGEST_LINE) throw invalid(resource, `a line is longer than ${LONGEST_LINE} bytes`);
      if (length > SHORT) release ??= await longTexts.acquire();
    }
  } finally {
    release?.();
  }
}

function* eventsIn(text: string, resource: string): Generator<WatchEvent, void> {
  for (const line of text.split('\n')) if (line.trim() !== '') yield readEvent(line, resource);
}

function readEvent(line: string, resource: string): WatchEvent {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw invalid(resource, 'a line is no JSON', cause);
  }
  if (!isLine(value)) throw invalid(resource, 'a line is no event');
  const { type, object } = value;
  if (type === 'ERROR') throw errorOf(`watch ${resource}`, resource, StatusAnswer.safeParse(object).data ?? {});
  if (!isEvent(type, object)) throw invalid(resource, `an event of type ${String(type)} has no object with a version`);
  return { type, object: object as KubeObject };
}

function isLine(value: unknown): value is { type: unknown; object: object } {
  return typeof value === 'object' && value !== null && 'type' in value && 'object' in value && isRecord(value.object);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const TYPES: ReadonlySet<unknown> = new Set<WatchEvent['type']>(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

/** Checks by hand without a copy, as thousands of events arrive at once. */
function isEvent(type: unknown, object: object): type is WatchEvent['type'] {
  return (
    TYPES.has(type) &&
    'metadata' in object &&
    isRecord(object.metadata) &&
    typeof object.metadata.resourceVersion === 'string'
  );
}

function invalid(resource: string, what: string, cause?: unknown): ApiError {
  return new ApiError(`watch ${resource}: ${what}`, { status: 0, reason: 'InvalidAnswer', cause });
}
