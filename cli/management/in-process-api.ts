import type { Caller } from '#management/operation';
import { type Problem, problemOf } from '#management/problem';
import type { Rooms } from '#management/rooms';
import type { CliError } from '../exit-codes.ts';
import type { ManagementApi } from './management-api.ts';
import { readResult } from './read-result.ts';
import { Refusal } from './refusal.ts';

interface InProcessOptions {
  rooms: Rooms;
  place: string;
  running: boolean;
  /** Told of what failed inside, as nobody keeps a log of it. */
  onFailure: (problem: Error) => void;
  /** What the command ends with in place of the API's own words; undefined: these. */
  explain?: (problem: Problem) => CliError | undefined;
  close: () => Promise<void>;
  stop: AbortSignal;
}

/** Whoever runs the command may do what its own files and credentials let it do: nothing here gives it more. */
const MYSELF: Caller = { name: 'local', check: () => Promise.resolve() };

/** The operations themselves, where nothing runs that could be asked. */
export function inProcessApi(options: InProcessOptions): ManagementApi {
  const { rooms, place, running, onFailure, explain, close, stop } = options;
  const refused = (error: unknown): CliError => {
    const problem = problemOf(error);
    const explained = explain?.(problem);
    if (explained) return explained;
    const { cause, message } = problem;
    // Where both say the same, once is enough.
    if (problem.status >= 500 && cause instanceof Error && cause.message !== message) onFailure(cause);
    return new Refusal(problem.body, { cause: error });
  };
  const run = async (
    operation: Parameters<ManagementApi['read']>[0],
    ask: Parameters<ManagementApi['read']>[1] = {},
  ) => {
    const { params = {}, query = {}, body, ifMatch } = ask;
    try {
      return await operation.call(
        { params, query, body, ifMatch: ifMatch === undefined ? undefined : [ifMatch], caller: MYSELF, signal: stop },
        rooms,
      );
    } catch (error) {
      throw refused(error);
    }
  };
  return {
    place,
    running,
    async call(operation, ask) {
      const { body, etag } = await run(operation, ask);
      return { body: readResult(operation.result, body), etag };
    },
    async *read(operation, ask) {
      const { lines } = await run(operation, ask);
      try {
        yield* lines ?? [];
      } catch (error) {
        throw refused(error);
      }
    },
    close,
  };
}
