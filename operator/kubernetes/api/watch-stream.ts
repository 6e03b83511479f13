import { BOUNDS } from '#operator/memory-bounds';
import { ApiError } from './api-error.ts';
import type { KubeObject } from './object.ts';
import { errorOf, StatusAnswer } from './read-error.ts';

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** For a bookmark, only `metadata.resourceVersion` is set. */
  object: KubeObject;
}

const LONGEST_LINE = BOUNDS.api.line;

/**
 * Yields the events of a watch, one JSON object per line. Passes on errors of the stream.
 * @throws ApiError for an `ERROR` event (with its status) and for an unreadable line (`InvalidAnswer`: a change may be
 * lost, so list again)
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  resource: string,
): AsyncGenerator<WatchEvent, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield readEvent(line, resource);
    if (rest.length > LONGEST_LINE) throw invalid(resource, `a line is longer than ${LONGEST_LINE} characters`);
  }
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
