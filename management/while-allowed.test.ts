import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NoBody, NoParams, NoQuery, Nothing, operation } from './operation.ts';
import { Problem } from './problem.ts';
import { servicesWith } from './testdata/services-with.ts';
import { serveOperations, type ServedOperations } from './testdata/serve-operations.ts';
import { whileAllowed } from './while-allowed.ts';

let served: ServedOperations;
let source: PassThrough;
let asked: number;
let known: boolean;
let allowed: boolean;
let enough: PromiseWithResolvers<void>;

const followLog = operation({
  id: 'followLog',
  method: 'GET',
  path: '/log',
  summary: '',
  params: NoParams,
  query: NoQuery,
  body: NoBody,
  success: 200,
  result: Nothing,
  media: 'text/plain',
  problems: {},
  permissions: () => [{ verb: 'get', group: '', resource: 'pods/log' }],
  run({ signal }) {
    signal.addEventListener('abort', () => source.destroy(new Error('it was told to end')), { once: true });
    return Promise.resolve({ body: undefined, lines: source.setEncoding('utf8') as AsyncIterable<string> });
  },
});

beforeEach(async () => {
  source = new PassThrough();
  [asked, known, allowed] = [0, true, true];
  enough = Promise.withResolvers();
  served = await serveOperations([followLog], {
    services: servicesWith({}),
    askEvery: 20,
    authenticator: {
      admit: () => undefined,
      authenticate() {
        if (!known) return Promise.reject(new Problem('unauthenticated', 'it has ended'));
        const check = () => {
          if ((asked += 1) === 4) enough.resolve();
          return allowed ? Promise.resolve() : Promise.reject(new Problem('forbidden', 'not any more'));
        };
        return Promise.resolve({ name: 'ann', in: () => ({ name: 'ann', check }) });
      },
      namespaceOf: () => 'team',
    },
  });
});
afterEach(async () => {
  jest.useRealTimers();
  source.destroy();
  await served.close();
});

describe('whileAllowed', () => {
  it.each([
    ['right is taken away', () => (allowed = false)],
    ['token ends', () => (known = false)],
  ])("passes lines on until the caller's %s", async (_what, end) => {
    source.write('one\n');
    const answer = await fetch(`${served.url}/log`);
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader?.read()).toEqual({ done: false, value: 'one\n' });
    await enough.promise;
    source.write('two\n');
    expect(await reader?.read()).toEqual({ done: false, value: 'two\n' });
    end();
    expect(await reader?.read()).toEqual({ done: true, value: undefined });
    expect([source.destroyed, served.failures]).toEqual([true, []]);
  });

  it('stops the permission checks when the reader leaves', async () => {
    jest.useFakeTimers();
    const lines = whileAllowed(source.setEncoding('utf8') as AsyncIterable<string>, {
      ask: () => Promise.resolve(),
      every: 1000,
      refused: new AbortController(),
    });
    source.write('one\n');
    expect(await lines.next()).toEqual({ done: false, value: 'one\n' });
    const before = jest.getTimerCount();
    await lines.return();
    expect([before, jest.getTimerCount()]).toEqual([1, 0]);
  });
});
