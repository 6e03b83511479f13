import type { Operation } from '../operation.ts';
import type { ProblemCode } from '../problem.ts';
import type { Services } from '../services.ts';
import type { Asked, Told } from './ask-operation.ts';

/** Causes a problem, and returns the answer. */
type Scenario = (row: Operation) => Promise<Told>;
export type Scenarios = Partial<Record<ProblemCode, Scenario>>;

interface ScenarioFixture {
  services: () => Services;
  serve: (services: Services, options?: { burst?: number; deadline?: number }) => Promise<void>;
  /** Sends a valid request with some changes. */
  ask: (row: Operation, more?: Asked) => Promise<Told>;
}

/** Returns services whose methods all run `act`. */
const servicesThat = (act: () => unknown): Services =>
  new Proxy({} as Services, {
    get: (_, service) => (service === 'now' ? Date.now : new Proxy({}, { get: () => act })),
  });

/** Returns scenarios for problems that any operation may answer. */
export const usualScenarios = ({ services, serve, ask }: ScenarioFixture): Scenarios => ({
  async bad_request(row) {
    await serve(services());
    return ask(row, { query: { unknown: '1' } });
  },
  async unauthenticated(row) {
    await serve(services());
    return ask(row, { headers: { authorization: 'Bearer other' } });
  },
  async foreign_host(row) {
    await serve(services());
    return ask(row, { headers: { origin: 'https://evil.example' } });
  },
  async too_large(row) {
    await serve(services());
    return ask(row, { raw: Buffer.alloc(4 * 1024 * 1024 + 1, ' ') });
  },
  async unsupported_media_type(row) {
    await serve(services());
    return ask(row, { raw: Buffer.from('{}'), headers: { 'content-type': 'text/plain' } });
  },
  async too_many_requests(row) {
    await serve(services(), { burst: 1 });
    await ask(row);
    return ask(row);
  },
  async internal(row) {
    await serve(
      servicesThat(() => {
        throw new Error('hunter2 is not told');
      }),
    );
    return ask(row);
  },
  async unavailable(row) {
    await serve(
      servicesThat(() => new Promise(() => undefined)),
      { deadline: 20 },
    );
    return ask(row);
  },
});
