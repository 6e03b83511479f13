import type { Caller } from '#management/operation';
import { type Problem, problemOf } from '#management/problem';
import type { Services } from '#management/services';
import type { CliError } from '../exit-codes.ts';
import { type ManagementApi, readResult } from './management-api.ts';
import { Refusal } from './refusal.ts';

interface InProcessOptions {
  services: Services;
  place: string;
  running: boolean;
  /** Prints the problem, because this process has no log. */
  onFailure: (problem: Error) => void;
  /** Returns undefined to keep the message. */
  explain?: (problem: Problem) => CliError | undefined;
  close: () => Promise<void>;
  stop: AbortSignal;
}

/** Files and credentials already limit its permissions; the API grants no further ones. */
const MYSELF: Caller = { name: 'local', check: () => Promise.resolve() };

export function inProcessApi(options: InProcessOptions): ManagementApi {
  const { services, place, running, onFailure, explain, close, stop } = options;
  const refused = (error: unknown): CliError => {
    const problem = problemOf(error);
    const explained = explain?.(problem);
    if (explained) return explained;
    const { cause, message } = problem;
    // Skips a cause whose message equals the answer's.
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
        services,
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
