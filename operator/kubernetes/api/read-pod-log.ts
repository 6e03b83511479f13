import { ApiError } from './api-error.ts';
import type { KubeApi } from './api.ts';
import { DEADLINE, type Exchange, unanswered } from './exchange.ts';
import { pathOf, type ObjectKey } from './object.ts';
import { PODS } from './resources.ts';

export interface LogSelection {
  container: string;
  /** Number of last lines; absent: all. */
  tailLines?: number;
  /** RFC 3339, in whole seconds; absent: from the first line. */
  sinceTime?: string;
  follow: boolean;
  signal: AbortSignal;
}

/** Longest silence of a container. Milliseconds. */
const LONGEST_SILENCE = 24 * 3_600_000;

/** Yields the selected lines; with `follow` also new ones until the container ends or `signal`. @throws ApiError if refused or cut off */
export async function* readPodLog(
  api: Pick<KubeApi, 'stream'>,
  place: ObjectKey,
  { container, tailLines, sinceTime, follow, signal }: LogSelection,
): AsyncGenerator<Uint8Array, void, void> {
  const query = { container, tailLines: tailLines?.toString(), sinceTime, follow: String(follow) };
  const path = pathOf(PODS, place, 'log');
  const wanted: Exchange = { verb: 'get', resource: 'pods/log', method: 'GET', path, query, accept: '*/*' };
  // Even the response headers arrive only with the first line.
  const patience = follow ? LONGEST_SILENCE : DEADLINE;
  try {
    yield* api.stream(wanted, { deadline: patience, silence: patience, signal });
  } catch (problem) {
    if (!signal.aborted) throw problem instanceof ApiError ? problem : unanswered(wanted, problem);
  }
}
