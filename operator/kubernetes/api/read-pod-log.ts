import { ApiError } from './api-error.ts';
import type { KubeApi } from './api.ts';
import { DEADLINE, type Exchange, unanswered } from './exchange.ts';
import { pathOf, type Place } from './object.ts';
import { PODS } from './resources.ts';

/** Which lines of which container's log. */
export interface LogSelection {
  container: string;
  tailLines: number;
  follow: boolean;
  signal: AbortSignal;
}

/** A container may say nothing for so long. Milliseconds. */
const LONGEST_SILENCE = 24 * 3_600_000;

/**
 * The log of a container of a pod, in pieces as they come: its last lines, and with `follow` what is written from now on, until the
 * container ends, or `signal`. Throws an ApiError when it is refused or cut.
 */
export async function* readPodLog(
  api: Pick<KubeApi, 'stream'>,
  place: Place,
  { container, tailLines, follow, signal }: LogSelection,
): AsyncGenerator<Uint8Array, void, void> {
  const query = { container, tailLines: String(tailLines), follow: String(follow) };
  const path = pathOf(PODS, place, 'log');
  const wanted: Exchange = { verb: 'get', resource: 'pods/log', method: 'GET', path, query, accept: '*/*' };
  // Not even the head of the answer comes before the first line.
  const patience = follow ? LONGEST_SILENCE : DEADLINE;
  try {
    yield* api.stream(wanted, { deadline: patience, silence: patience, signal });
  } catch (problem) {
    if (!signal.aborted) throw problem instanceof ApiError ? problem : unanswered(wanted, problem);
  }
}
