import { localAuthenticator } from '../local/local-authenticator.ts';
import { limitRate } from '../limit-rate.ts';
import { listen } from '../listen.ts';
import type { Operation } from '../operation.ts';
import type { Problem } from '../problem.ts';
import type { Services } from '../services.ts';
import { createRoutes } from '../routes.ts';
import { type Authenticator, type ChangeEvent, Serving } from '../serving.ts';

export const TOKEN = 'the-token-of-the-tests';

export interface ServedOperations {
  /** URL with the base path. */
  url: string;
  port: number;
  changes: ChangeEvent[];
  failures: Problem[];
  /** Milliseconds of the limits' clock. */
  clock: { now: number };
  close(): Promise<void>;
}

interface ServeOptions {
  services: Services;
  deadline?: number;
  askEvery?: number;
  burst?: number;
  /** Authenticator; by default that of one machine. */
  authenticator?: Authenticator;
}

/** Serves operations over HTTP, by default as on one machine. */
export async function serveOperations(
  operations: readonly Operation[],
  { services, deadline = 60_000, askEvery = 60_000, burst = 1000, authenticator }: ServeOptions,
): Promise<ServedOperations> {
  const changes: ChangeEvent[] = [];
  const failures: Problem[] = [];
  const clock = { now: 0 };
  let port = 0;
  const serving = new Serving({
    authenticator: authenticator ?? localAuthenticator(TOKEN, () => port),
    servicesOf: () => services,
    addresses: limitRate({ burst: 10 * burst, perSecond: 1, now: () => clock.now }),
    callers: limitRate({ burst, perSecond: 1, now: () => clock.now }),
    onChange: (change) => void changes.push(change),
    onFailure: (_, problem) => void failures.push(problem),
    deadline,
    askEvery,
  });
  const listening = await listen(createRoutes(operations, serving), { host: '127.0.0.1', port: 0 });
  port = listening.port;
  const url = `http://127.0.0.1:${port}/api/v1beta`;
  return { url, port, changes, failures, clock, close: () => listening.close() };
}
