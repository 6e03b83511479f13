import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { doctor } from './doctor.ts';
import { serveFakeEndpoint } from './testdata/fake-endpoint.ts';
import { contextWith } from '../testdata/context-with.ts';

/** Returns the output of `vmcp doctor --token-file -` for a token that arrives in these parts. */
async function verdictOn(parts: readonly string[]) {
  const fake = await serveFakeEndpoint();
  let printed = '';
  const out = { write: (text: string) => (printed += text) };
  const context = contextWith({ input: Readable.from(late(parts)), out });
  try {
    const options = { register: false, tokenFile: '-', output: 'json' } as const;
    await doctor(`${fake.origin}/mcp`, options, context);
    const { checks } = JSON.parse(printed) as { checks: { check: string; verdict: string }[] };
    return checks.find(({ check }) => check === 'token')?.verdict;
  } finally {
    fake.close();
  }
}

async function* late(parts: readonly string[]) {
  for (const part of parts) {
    await sleep(20);
    yield part;
  }
}

it('waits for a token that a pipe delivers late', async () => {
  expect(await verdictOn(['go', 'od\n'])).toBe('ok');
  expect(await verdictOn(['ba', 'd\n'])).toBe('failed');
});

it('reports a pipe without a token', async () => {
  await expect(verdictOn(['\n'])).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringContaining('standard input is empty'),
  });
});
