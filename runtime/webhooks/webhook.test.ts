import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { ValidatingWebhook } from '#crds/run-config/backend';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { Log } from '#runtime/telemetry/log';
import { createWebhookGate } from './create-webhook-gate.ts';
import { Webhook } from './webhook.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Returns the settings of a webhook with these answers. */
async function serve(answer: RequestListener, more = {}) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return ValidatingWebhook.parse({ name: 'dlp', url: `http://127.0.0.1:${port}/`, timeout: '10s', ...more });
}

const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const deps = { readSecret: () => 'secret', proxy: undefined, log: silent };
const question = { uid: 'u', at: 0, body: '{}' };

it('repeats a question once if its connection is closed', async () => {
  let asked = 0;
  let closes = 1;
  const settings = await serve((request, response) => {
    asked += 1;
    if (asked <= closes) request.socket.destroy();
    else response.end('{"allowed":true}');
  });
  const webhook = new Webhook(settings, deps);
  closing.push(() => webhook.close());
  expect([await webhook.ask(question), asked]).toEqual([{ allowed: true }, 2]);
  [asked, closes] = [0, Infinity];
  await expect(webhook.ask(question)).rejects.toThrow();
  expect(asked).toBe(2);
});

it('signs with its former secret when the file is emptied, so that it skips no check', async () => {
  const signatures: unknown[] = [];
  const settings = await serve(
    ({ headers }, response) => {
      signatures.push(Object.keys(headers).some((name) => name.includes('signature')));
      response.end('{"allowed":true}');
    },
    { hmac_secret_file: 'secret', failure_policy: 'ignore' },
  );
  let secret = 'secret';
  const told: unknown[][] = [];
  const log = { ...silent, warn: (...line: unknown[]) => void told.push(line) };
  const webhook = new Webhook(settings, { ...deps, readSecret: () => secret, log });
  closing.push(() => webhook.close());
  secret = '';
  expect(await Promise.all([webhook.ask(question), webhook.ask(question)])).toEqual([
    { allowed: true },
    { allowed: true },
  ]);
  expect(signatures).toEqual([true, true]);
  const reason = 'webhook dlp: secret is empty';
  expect(told).toEqual([['changed secret of a webhook cannot be used; the former stays', { webhook: 'dlp', reason }]]);
});

it('refuses questions over the limit of one webhook', async () => {
  const webhook = new Webhook(await serve(() => undefined), deps);
  const waiting = Array.from({ length: 1000 }, () => webhook.ask(question).catch(() => 'ended'));
  await expect(webhook.ask(question)).rejects.toThrow('too many questions wait for it');
  await webhook.close();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['ended']));
  await expect(webhook.ask(question)).rejects.not.toThrow('too many');
});

it('logs a failing webhook once, until it decides again', async () => {
  let status = 500;
  const settings = await serve((_, response) => response.writeHead(status).end('{"allowed":true}'), {
    failure_policy: 'ignore',
  });
  const told: string[] = [];
  const log = {
    debug: () => undefined,
    info: (text: string) => void told.push(text),
    warn: (text: string) => void told.push(text),
    error: () => undefined,
  };
  const gate = createWebhookGate([settings], {
    ...deps,
    server: { namespace: 'a', name: 'b' },
    now: () => 0,
    log,
    count: () => undefined,
  });
  closing.push(() => gate.close());
  const texts = { workload: 'w', tool: 't', originalName: 't', revision: undefined };
  const call = { identity: ANONYMOUS, ...texts, args: {}, clientName: undefined, clientVersion: undefined };
  for (const next of [500, 500, 200, 200, 500]) {
    status = next;
    await gate.check(call);
  }
  expect(told).toEqual(['webhook does not decide', 'webhook decides again', 'webhook does not decide']);
});
