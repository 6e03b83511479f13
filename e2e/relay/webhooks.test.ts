import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { allow, deny, serveWebhook, type Decide } from '../fakes/webhook/serve-webhook.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { makeCertificates } from '../redis/make-certificates.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

type WebhookDocument = NonNullable<RunConfigDocument['backends'][number]['webhooks']>[number];

const SECRET = 'a shared secret';
const ARGS = { text: 'x' };
const ROOT = join(import.meta.dirname, '..', '..');

/** Starts a gateway in front of one backend with these webhooks. Returns it with a client and the calls that reached the backend. */
async function arrange(webhooks: WebhookDocument[], files: Record<string, string> = {}) {
  const backend = closing(await servePlain({ tools: 1 }));
  const audit_config = { enabled: true };
  const gateway = await gatewayTo({ a: { url: backend.url, webhooks } }, { audit_config }, { files });
  const client = await SessionClient.open(gateway.url);
  return { backend, gateway, client, calls: () => backend.counts.get('tools/call') ?? 0 };
}

const webhook = async (decide?: Decide) => closing(await serveWebhook(decide));

describe('a validating webhook', () => {
  it('gets caller, tool and arguments before the call goes out, and never the token', async () => {
    const hook = await webhook();
    const { client, calls } = await arrange([{ name: 'dlp', url: hook.url }]);
    hook.decide = (asked) => (calls() === 0 ? allow(asked) : deny(asked));
    const headers = { ...client.headers, authorization: 'Bearer of-the-caller' };
    const text = client.message('tools/call', { name: 'a_tool_0', arguments: ARGS });
    expect((await send(client.url, 'POST', headers, text)).answer.result).toBeDefined();
    expect(hook.asked).toHaveLength(1);
    const [{ question, text: body, headers: sent }] = hook.asked as [(typeof hook.asked)[0]];
    expect(question).toMatchObject({
      version: 'v1',
      server: { namespace: 'e2e', name: 'gateway' },
      workload: 'a',
      principal: { subject: 'anonymous' },
      client: { name: 'test', version: '1', revision: '2025-11-25' },
      request: { method: 'tools/call', tool: 'a_tool_0', original_name: 'tool_0', arguments: ARGS },
    });
    expect(JSON.stringify([body, sent])).not.toContain('of-the-caller');
    expect(sent).not.toHaveProperty('x-vmcp-signature');
  });

  it('verifies by the signature the sender and the time', async () => {
    const hook = await webhook();
    const { client } = await arrange([{ name: 'dlp', url: hook.url, hmac_secret_file: 'hmac' }], {
      hmac: `${SECRET}\n`,
    });
    await client.call('a_tool_0', ARGS);
    const [asked] = hook.asked;
    const timestamp = String(asked?.headers['x-vmcp-timestamp']);
    expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(10);
    const digest = createHmac('sha256', SECRET)
      .update(`${timestamp}.${asked?.text ?? ''}`)
      .digest('hex');
    expect(asked?.headers['x-vmcp-signature']).toBe(`sha256=${digest}`);
  });

  it('keeps a refused call from the backend, and the client gets the reason as from a policy', async () => {
    const hook = await webhook(deny);
    const { client, calls, gateway } = await arrange([{ name: 'dlp', url: hook.url }]);
    const { status, answer } = await client.call('a_tool_0', ARGS);
    expect([status, calls()]).toEqual([200, 0]);
    expect(answer.error).toEqual({
      code: 403,
      message: 'Denied by webhook dlp: Cards do not leave the house',
      data: { webhook: { name: 'dlp', reason: 'card-number' } },
    });
    const isAudited = (log: string) => /"outcome":"denied".*"code":"denied_by_webhook".*"webhook":"dlp"/.test(log);
    await eventually(() => gateway.log(), isAudited);
  });

  it('gets the question in the configured order, until one refuses', async () => {
    const [first, second, third] = [await webhook(), await webhook(deny), await webhook()];
    const { client } = await arrange([first, second, third].map(({ url }, index) => ({ name: `hook-${index}`, url })));
    expect((await client.call('a_tool_0', ARGS)).answer.error?.message).toContain('hook-1');
    expect([first, second, third].map(({ asked }) => asked.length)).toEqual([1, 1, 0]);
  });

  it('gets the question in the newer revision, too', async () => {
    const hook = await webhook();
    const { gateway, calls } = await arrange([{ name: 'dlp', url: hook.url }]);
    const call = { name: 'a_tool_0', arguments: ARGS };
    expect((await sendModern(gateway.url, 'tools/call', call)).answer.result).toBeDefined();
    hook.decide = deny;
    expect((await sendModern(gateway.url, 'tools/call', call)).answer.error?.code).toBe(403);
    expect([calls(), hook.asked[0]?.question.client]).toEqual([1, expect.objectContaining({ revision: '2026-07-28' })]);
  });

  it('gets the question for programs on standard input and output', async () => {
    const hook = await webhook(deny);
    const args = [join(ROOT, 'e2e', 'local', 'testdata', 'clock.ts')];
    const webhooks = [{ name: 'dlp', url: hook.url }];
    const gateway = await serveGateway({
      incoming: { type: 'anonymous' },
      backends: [{ name: 'a', transport: 'stdio', command: process.execPath, args, webhooks }],
    });
    closing(gateway);
    const client = await SessionClient.open(gateway.url);
    expect((await client.call('a_started', {})).answer.error?.message).toContain('dlp');
  });

  it('gets questions about tool calls only', async () => {
    const hook = await webhook(deny);
    const { client } = await arrange([{ name: 'dlp', url: hook.url }]);
    expect(await client.toolNames()).toEqual(['a_tool_0']);
    await client.request('ping');
    expect(hook.asked).toEqual([]);
  });

  it('reads the same arguments as the backend: a duplicate key is refused', async () => {
    const hook = await webhook();
    const { client, calls } = await arrange([{ name: 'dlp', url: hook.url }]);
    const text = client
      .message('tools/call', { name: 'a_tool_0', arguments: ARGS })
      .replace('"text"', '"text":"y","text"');
    expect((await send(client.url, 'POST', client.headers, text)).status).toBe(400);
    expect([hook.asked.length, calls()]).toEqual([0, 0]);
  });

  it('keeps its connections open', async () => {
    const hook = await webhook();
    const { client } = await arrange([{ name: 'dlp', url: hook.url }]);
    for (let call = 0; call < 5; call += 1) await client.call('a_tool_0', ARGS);
    expect([hook.asked.length, hook.connections()]).toEqual([5, 1]);
  });

  it('counts the outcomes of its questions', async () => {
    const hook = await webhook();
    const { client, gateway } = await arrange([{ name: 'dlp', url: hook.url }]);
    await client.call('a_tool_0', ARGS);
    hook.decide = deny;
    await client.call('a_tool_0', ARGS);
    const metrics = (await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/metrics`, 'GET', {})).text;
    expect(metrics).toContain('vmcp_webhook_requests_total{webhook="dlp",outcome="allowed"} 1');
    expect(metrics).toContain('vmcp_webhook_requests_total{webhook="dlp",outcome="denied"} 1');
  });
});

const failures: [string, Decide][] = [
  ['does not answer', () => undefined],
  ['answers with an error', () => ({ status: 500, body: '{"allowed":true}' })],
  ['answers in HTML', () => ({ body: '<p>allowed</p>' })],
  ['says something else than true or false', () => ({ body: '{"allowed":"true"}' })],
  ['answers another question', () => ({ body: '{"allowed":true,"uid":"another"}' })],
  ['leads elsewhere', () => ({ status: 307, headers: { location: 'http://127.0.0.1:1/' }, body: '' })],
  ['sends more than 64 KiB', () => ({ body: JSON.stringify({ allowed: true, message: 'x'.repeat(70_000) }) })],
];

describe('a faulty webhook', () => {
  it.each(failures)(
    'refuses the call, or passes it if configured: it %s',
    async (_case, decide) => {
      const hook = await webhook(decide);
      const settings = { name: 'dlp', url: hook.url, timeout: '1s' };
      const strict = await arrange([settings]);
      const { status, answer } = await strict.client.call('a_tool_0', ARGS);
      expect([status, answer.error?.code, strict.calls()]).toEqual([200, -32603, 0]);
      expect(answer.error?.message).toBe('webhook dlp did not decide about this call; try again later');
      const lenient = await arrange([{ ...settings, failure_policy: 'ignore' }]);
      expect((await lenient.client.call('a_tool_0', ARGS)).answer.result).toBeDefined();
      expect(lenient.gateway.log()).toContain('webhook does not decide');
    },
    20_000,
  );

  it('decides again after an outage', async () => {
    const hook = await webhook(() => ({ status: 503, body: '' }));
    const { client } = await arrange([{ name: 'dlp', url: hook.url }]);
    expect((await client.call('a_tool_0', ARGS)).answer.error).toBeDefined();
    hook.decide = allow;
    expect((await client.call('a_tool_0', ARGS)).answer.result).toBeDefined();
  });

  it('applies from its configuration on while calls run', async () => {
    const hook = await webhook(deny);
    const { gateway, client, backend } = await arrange([]);
    expect((await client.call('a_tool_0', ARGS)).answer.result).toBeDefined();
    const watched = { name: 'a', transport: 'streamable-http', url: backend.url } as const;
    await gateway.reconfigure({
      incoming: { type: 'anonymous' },
      backends: [{ ...watched, webhooks: [{ name: 'dlp', url: hook.url }] }],
    });
    expect((await client.call('a_tool_0', ARGS)).answer.error?.code).toBe(403);
  });
});

describe('a webhook over HTTPS', () => {
  const certificates = makeCertificates();
  const pem = { crt: readFileSync(certificates.certFile, 'utf8'), key: readFileSync(certificates.keyFile, 'utf8') };
  certificates.remove();
  const files = { 'ca.pem': certificates.ca, 'crt.pem': pem.crt, 'key.pem': pem.key };
  const secure = async (more: object = {}) =>
    closing(await serveWebhook(allow, { cert: pem.crt, key: pem.key, ...more }));

  const outcome = async (tls: WebhookDocument['tls'], url: string) => {
    const { client } = await arrange([{ name: 'dlp', url, ...(tls && { tls }) }], files);
    const { answer } = await client.call('a_tool_0', ARGS);
    return answer.result ? 'asked' : answer.error?.code;
  };

  it('gets the question only with a certificate of a trusted authority', async () => {
    const { url } = await secure();
    expect(await outcome({ ca_bundle_file: 'ca.pem' }, url)).toBe('asked');
    expect(await outcome(undefined, url)).toBe(-32603);
    expect(await outcome({ insecure_skip_verify: true }, url)).toBe('asked');
  });

  it('gets the configured client certificate', async () => {
    const { url } = await secure({ requestCert: true, ca: certificates.ca });
    const own = { client_cert_file: 'crt.pem', client_key_file: 'key.pem' };
    expect(await outcome({ ca_bundle_file: 'ca.pem', ...own }, url)).toBe('asked');
    expect(await outcome({ ca_bundle_file: 'ca.pem' }, url)).toBe(-32603);
  });
});
