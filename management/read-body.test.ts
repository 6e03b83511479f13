import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { NoParams, NoQuery, operation } from './operation.ts';
import { Problem } from './problem.ts';
import { servicesWith } from './testdata/services-with.ts';
import { serveOperations, type ServedOperations, TOKEN } from './testdata/serve-operations.ts';

const MEGABYTES = 1024 * 1024;
const Thing = z.strictObject({ names: z.array(z.string()).optional(), name: z.string().optional() });
const operations = [
  operation({
    id: 'makeThing',
    method: 'POST',
    path: '/things',
    summary: '',
    params: NoParams,
    query: NoQuery,
    body: Thing,
    success: 200,
    result: Thing,
    problems: {},
    first: () => ({ verb: 'create', resource: 'things' }),
    permissions: () => [],
    run: ({ body }) => Promise.resolve({ body }),
  }),
];
let served: ServedOperations;

beforeAll(async () => {
  served = await serveOperations(operations, { services: servicesWith({}) });
});
afterAll(() => served.close());

/** Default URL and token of a request. */
const here = () => ({ url: served.url, authorization: `Bearer ${TOKEN}` });

async function send(body: string, { url, authorization } = here()) {
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/things`, { method: 'POST', headers, body });
  const text = await answer.text();
  return { status: answer.status, retry: answer.headers.get('retry-after'), text };
}

/** Sends the head of a request without its body. */
function announce(bytes: number, { url, authorization } = here()): ClientRequest {
  const headers = { authorization, 'content-type': 'application/json', 'content-length': bytes };
  const announced = request(`${url}/things`, { method: 'POST', agent: false, headers });
  announced.on('error', () => undefined).flushHeaders();
  return announced;
}

const many = (count: number, one: (index: number) => string) => Array.from({ length: count }, (_, i) => one(i)).join();

describe('readBody', () => {
  it.each([
    ['empty lists', `{"names":[${many(1_390_000, () => '[]')}]}`, 'body: it has more than 20000 values; send less'],
    ['unknown fields', `{${many(280_000, (i) => `"k${i}":1`)}}`, 'body: it has more than 20000 values; send less'],
    ['open lists', '['.repeat(4_000_000), 'body: it has more than 100 lists and objects within each other; send less'],
  ])('rejects %s before it parses the body', async (_, body, problem) => {
    const { status, text } = await send(body);
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ detail: problem })]);
  });

  it.each([
    [
      'values',
      (count: number) => `[${many(count, () => '1')}]`,
      20_000,
      'body: it has more than 20000 values; send less',
    ],
    [
      'depth',
      (count: number) => '['.repeat(count) + ']'.repeat(count),
      100,
      'body: it has more than 100 lists and objects within each other; send less',
    ],
  ])('parses a body with the maximum of %s and rejects one above it', async (_, make, most, problem) => {
    const details = await Promise.all(
      [most, most + 1].map(async (count) => (JSON.parse((await send(make(count))).text) as { detail: string }).detail),
    );
    expect(details).toEqual([expect.stringContaining('body: '), problem]);
    expect(details[0]).not.toContain('more than');
  });

  it('reports only the first twenty of thousands of invalid fields', async () => {
    const { status, text } = await send(`{${many(15_000, (i) => `"field${i}":1`)}}`);
    expect(status).toBe(400);
    expect(text).toContain('unknown field `field19`');
    expect(text).toContain('and more');
    expect(text).not.toContain('field20');
  });

  it('does not echo an invalid name of several megabytes', async () => {
    const { status, text } = await send(`{"${'x'.repeat(3 * MEGABYTES)}":1}`);
    expect([status, text.length < 10_000]).toEqual([400, true]);
  });

  it('accepts any character in texts', async () => {
    const body = { name: `${'[{,'.repeat(200_000)}"\\"\\` };
    const { status, text } = await send(JSON.stringify(body));
    expect([status, JSON.parse(text)]).toEqual([200, body]);
  });

  it('takes no quota for a body that it rejects by its length', async () => {
    const asked = Array.from({ length: 30 }, async () => {
      const announced = announce(4 * MEGABYTES + 1);
      const [answer] = (await once(announced, 'response')) as [IncomingMessage];
      announced.destroy();
      return answer.statusCode;
    });
    expect(new Set(await Promise.all(asked))).toEqual(new Set([413]));
  });

  it('rejects long bodies while 64 MiB of all callers are being read, and accepts short ones', async () => {
    const authenticate = ({ headers: { authorization: name = '' } }: IncomingMessage) =>
      Promise.resolve({ name, in: () => ({ name, check: () => Promise.resolve() }) });
    const authenticator = { admit: () => undefined, authenticate, namespaceOf: () => '' };
    const shared = await serveOperations(operations, { services: servicesWith({}), authenticator });
    const held = ['ann', 'bob', 'cid', 'dan'].flatMap((name) =>
      Array.from({ length: 4 }, () => announce(4 * MEGABYTES, { url: shared.url, authorization: name })),
    );
    try {
      const asEve = (body = LONG) => send(body, { url: shared.url, authorization: 'eve' });
      const refused = await until(({ status }) => status !== 200, asEve);
      expect(refused).toMatchObject({ status: 503, retry: '5' });
      expect(refused.text).toContain('bodies of 67108864 bytes are being read already');
      expect((await asEve('{}')).status).toBe(200);
      held[0]?.destroy();
      expect(await until(({ status }) => status === 200, asEve)).toMatchObject({ status: 200 });
    } finally {
      for (const one of held) one.destroy();
      await shared.close();
    }
  });

  it('does not read a long body of a caller without permission, and leaves the quota to others', async () => {
    const check = (name: string) => () =>
      name === 'eve' ? Promise.resolve() : Promise.reject(new Problem('forbidden', 'it may not'));
    const authenticate = ({ headers: { authorization: name = '' } }: IncomingMessage) =>
      Promise.resolve({ name, in: () => ({ name, check: check(name) }) });
    const authenticator = { admit: () => undefined, authenticate, namespaceOf: () => '' };
    const shared = await serveOperations(operations, { services: servicesWith({}), authenticator });
    const as = (authorization: string) => ({ url: shared.url, authorization });
    const held = Array.from({ length: 16 }, (_, at) => announce(4 * MEGABYTES, as(`stranger-${at}`)));
    try {
      const answers = await Promise.all(held.map(async (one) => (await once(one, 'response')) as [IncomingMessage]));
      expect(answers.map(([{ statusCode }]) => statusCode)).toEqual(Array(16).fill(403));
      expect((await send(LONG, as('eve'))).status).toBe(200);
    } finally {
      for (const one of held) one.destroy();
      await shared.close();
    }
  }, 20_000);

  it('rejects long bodies at once while 16 MiB of one caller are being read, and accepts short ones', async () => {
    const held = Array.from({ length: 4 }, () => announce(4 * MEGABYTES));
    // The last of the four requests may not have reached the server yet.
    const refused = await until(({ status }) => status !== 200);
    expect(refused).toMatchObject({ status: 429, retry: '5' });
    expect(refused.text).toContain('bodies of 16777216 bytes are being read for you already');
    expect((await send('{}')).status).toBe(200);
    for (const one of held) one.destroy();
    expect(await until(({ status }) => status === 200)).toMatchObject({ status: 200 });
  });
});

/** Longer than a short body. */
const LONG = `{}${' '.repeat(65_536)}`;

/** Repeats the request until the condition holds, for a minute at most. */
async function until(isSo: (answer: Awaited<ReturnType<typeof send>>) => boolean, ask = () => send(LONG)) {
  const end = performance.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (isSo(answer) || performance.now() > end) return answer;
    await sleep(20);
  }
}
