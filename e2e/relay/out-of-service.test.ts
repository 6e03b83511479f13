import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { send } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { connectOldClient } from '../sdk-servers/connect-sdk-client.ts';
import { startSdkServer, type SdkServer } from '../sdk-servers/start-sdk-server.ts';
import { closeAll, configTo, gatewayTo } from './gateway-to.ts';

type Settings = Partial<RunConfigDocument['backends'][number]>;

afterEach(closeAll);

const bearer = (token_file: string): Settings => ({ auth: { type: 'bearer_token', token_file } });

interface Case {
  readonly settings: object;
  readonly files?: Record<string, string>;
  readonly reason: RegExp;
}

const CASES: Record<string, Case> = {
  'an empty secret': { settings: bearer('token'), files: { token: '' }, reason: /token is empty/ },
  'a secret with a line break': { settings: bearer('token'), files: { token: 'a\nb' }, reason: /no header may have/ },
  'a missing secret': { settings: bearer('none'), reason: /auth\.token_file: none: there is no such file/ },
  'a header of the protocol': {
    settings: { auth: { type: 'header_injection', header_name: 'Content-Type', value_file: 'token' } },
    files: { token: 't' },
    reason: /"Content-Type" is a header of the protocol/,
  },
  'a forwarded header of the protocol': {
    settings: { header_forward: { add_plaintext_headers: { host: 'a' } } },
    reason: /"host" is a header of the protocol/,
  },
  'a forwarded secret with a line break': {
    settings: { header_forward: { add_header_files: { 'x-key': 'token' } } },
    files: { token: 'a\nb' },
    reason: /no header may have/,
  },
  'a missing certificate authority': {
    settings: { ca_bundle_file: 'none.pem' },
    reason: /none\.pem: there/,
  },
  'certificate authorities that are none': {
    settings: { ca_bundle_file: 'token' },
    files: { token: 'none' },
    reason: /token has no certificate; write certificates of authorities in PEM form/,
  },
  'policies that cannot be read': {
    settings: { authz: { policies: ['permit(principal, action, resource'] } },
    reason: /.+/,
  },
  'a webhook without its secret': {
    settings: { webhooks: [{ name: 'w', url: 'https://127.0.0.1:1/', hmac_secret_file: 'token' }] },
    files: { token: '' },
    reason: /webhook w: token is empty/,
  },
  // With an empty text, Node would trust the default authorities.
  'a webhook without its authorities': {
    settings: {
      webhooks: [
        { name: 'w', url: 'https://127.0.0.1:1/', failure_policy: 'ignore', tls: { ca_bundle_file: 'token' } },
      ],
    },
    files: { token: '' },
    reason: /webhook w: token has no certificate/,
  },
  'a variable that no process gets': {
    settings: { transport: 'stdio', url: undefined, command: 'node', env_files: { TOKEN: 'token' } },
    files: { token: 'a\0b' },
    reason: /token has a NUL character/,
  },
  'a webhook whose client key is none': {
    settings: {
      webhooks: [
        { name: 'w', url: 'https://127.0.0.1:1/', tls: { client_cert_file: 'token', client_key_file: 'token' } },
      ],
    },
    files: { token: 'no key' },
    reason: /webhook w: its client certificate cannot be used: a certificate or its chain cannot be read/,
  },
};

/** Servers of all tests: each gateway opens its own sessions. */
let two: Record<'good' | 'bad', { url: string }>;
const servers: SdkServer[] = [];
beforeAll(async () => {
  servers.push(await startSdkServer('new'), await startSdkServer('old'));
  const [good, bad] = servers.map(({ url }) => ({ url }));
  two = { good: good!, bad: bad! };
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

async function echoTools(gateway: ServedGateway): Promise<string[]> {
  const client = await connectOldClient(new URL(gateway.url));
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name).filter((name) => name.endsWith('_echo'));
}

interface Status {
  readonly backends: readonly { readonly name: string; readonly phase: string; readonly message: string }[];
  readonly warnings: readonly string[];
}

async function statusOf(gateway: ServedGateway): Promise<Status> {
  const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
  return JSON.parse(text) as Status;
}

async function formerSettings(gateway: ServedGateway): Promise<string[]> {
  return (await statusOf(gateway)).warnings.filter((warning) => warning.includes('former settings'));
}

async function expectOutOfService(gateway: ServedGateway, reason: RegExp): Promise<void> {
  expect(await echoTools(gateway)).toEqual(['good_echo']);
  const bad = (await statusOf(gateway)).backends.find(({ name }) => name === 'bad');
  expect(bad).toMatchObject({ phase: 'unavailable', message: expect.stringMatching(/^out of service/) });
  expect(bad?.message).toMatch(reason);
}

describe.each(Object.entries(CASES))('a backend with %s', (_title, { settings, files = {}, reason }) => {
  it('takes only itself out of service, at start and on reload', async () => {
    const { good, bad } = two;
    // JSON has no undefined fields.
    const broken = { good, bad: JSON.parse(JSON.stringify({ ...bad, ...settings })) as typeof bad };
    const atStart = await gatewayTo(broken, {}, { files });
    await expectOutOfService(atStart, reason);
    await atStart.reconfigure(configTo({ good, bad }));
    expect(await echoTools(atStart)).toEqual(['good_echo', 'bad_echo']);
    await atStart.reconfigure(configTo({ good: { ...good, tools_filter: ['echo'] } }));
    await atStart.reconfigure(configTo(broken));
    await expectOutOfService(atStart, reason);
  });
});

describe('a backend out of service', () => {
  it.each(['', undefined])('serves again after the repair of its file, which held %p', async (content) => {
    const { good, bad } = two;
    const files: Record<string, string> = content === undefined ? {} : { token: content };
    const gateway = await gatewayTo({ good, bad: { ...bad, ...bearer('token') } }, {}, { files });
    expect(await echoTools(gateway)).toEqual(['good_echo']);
    await writeFile(join(gateway.folder, 'token'), 'secret');
    await until('the backend serves', async () => (await echoTools(gateway)).includes('bad_echo'));
    expect(await formerSettings(gateway)).toEqual([]);
  });
});

describe('boundary 1', () => {
  const incoming = { type: 'oidc', issuer: 'https://idp.example', audience: 'a', jwks_file: 'keys' } as const;
  const KEYS = '{"keys":[]}';

  it.each([
    ['keys', { keys: 'none' }, {}, /incoming\.jwks_file: keys is no key set/],
    ['the secret', { keys: KEYS, secret: '' }, { client_id: 'a', client_secret_file: 'secret' }, /secret is empty/],
    ['authorities', { keys: KEYS, ca: 'none' }, { ca_bundle_file: 'ca' }, /incoming\.ca_bundle_file: ca has no cert/],
  ])('does not start with a file without %s', async (_title, files, more, reason) => {
    const started = gatewayTo({}, { incoming: { ...incoming, ...more } }, { files });
    await expect(started).rejects.toThrow(reason);
  });

  it('keeps its former keys while their file holds none, and repaired backends serve', async () => {
    const { bad } = two;
    const files = { keys: KEYS, token: '' };
    const gateway = await gatewayTo({ bad: { ...bad, ...bearer('token') } }, { incoming }, { files });
    await writeFile(join(gateway.folder, 'keys'), 'none');
    await writeFile(join(gateway.folder, 'token'), 'secret');
    await until('the backend serves', async () => (await statusOf(gateway)).backends[0]?.phase === 'ready');
    expect(gateway.log()).toContain('changed files of the incoming authentication cannot be used; the former stay');
  });
});

describe('a backend in service', () => {
  it('keeps its former settings while a file of its new ones is missing', async () => {
    const { good, bad } = two;
    const gateway = await gatewayTo({ good, bad: { ...bad, ...bearer('token') } }, {}, { files: { token: 'secret' } });
    await gateway.reconfigure(configTo({ good, bad: { ...bad, ...bearer('next') } }));
    expect(await echoTools(gateway)).toEqual(['good_echo', 'bad_echo']);
    expect(await formerSettings(gateway)).toEqual([
      'backend bad keeps its former settings until this is mended: auth.token_file: next: there is no such file',
    ]);
    await writeFile(join(gateway.folder, 'next'), 'other');
    await until('the new settings are active', async () => (await formerSettings(gateway)).length === 0);
    expect(await echoTools(gateway)).toEqual(['good_echo', 'bad_echo']);
  });

  it.each<[string, (file: string) => Settings]>([
    ['a credential', bearer],
    ['a header', (file) => ({ header_forward: { add_header_files: { 'x-key': file } } })],
  ])('keeps %s of its former settings, whose file is gone', async (_title, settingsWith) => {
    const { good, bad } = two;
    const files = { token: 'secret' };
    const gateway = await gatewayTo({ good, bad: { ...bad, ...settingsWith('token') } }, {}, { files });
    await rm(join(gateway.folder, 'token'));
    await gateway.reconfigure(configTo({ good, bad: { ...bad, ...settingsWith('next') } }));
    expect(await formerSettings(gateway)).toHaveLength(1);
    const client = await connectOldClient(new URL(gateway.url));
    const result = await client.callTool({ name: 'bad_echo', arguments: { text: 'hello' } });
    await client.close();
    expect(result.isError).not.toBe(true);
  });

  const NEW_CHECKS: Record<string, Settings> = {
    policies: { authz: { policies: ['forbid(principal, action, resource);'] } },
    'a webhook': { webhooks: [{ name: 'w', url: 'https://127.0.0.1:1/', hmac_secret_file: 'next' }] },
    'another credential': bearer('next'),
    'fewer tools': { tools_filter: [] },
  };

  it.each(Object.entries(NEW_CHECKS))(
    'leaves service while its new settings have %s and a missing file',
    async (_title, checks) => {
      const { good, bad } = two;
      const gateway = await gatewayTo({ good, bad });
      expect(await echoTools(gateway)).toEqual(['good_echo', 'bad_echo']);
      const forwarded = { header_forward: { add_header_files: { 'x-key': 'next' } } };
      await gateway.reconfigure(configTo({ good, bad: { ...bad, ...forwarded, ...checks } }));
      await expectOutOfService(gateway, /next: there is no such file/);
      expect(await formerSettings(gateway)).toEqual([]);
      await writeFile(join(gateway.folder, 'next'), 'secret');
      await until('its new settings are active', async () => {
        const { backends } = await statusOf(gateway);
        return backends.every(({ message }) => !message.startsWith('out of service'));
      });
    },
  );

  it('keeps its former settings while a file that adds no check is missing', async () => {
    const { good, bad } = two;
    const gateway = await gatewayTo({ good, bad });
    const forwarded = { header_forward: { add_header_files: { 'x-key': 'next' } } };
    await gateway.reconfigure(configTo({ good, bad: { ...bad, ...forwarded } }));
    expect(await echoTools(gateway)).toEqual(['good_echo', 'bad_echo']);
    expect(await formerSettings(gateway)).toHaveLength(1);
    await gateway.reconfigure(configTo({ good, bad }));
    expect(await formerSettings(gateway)).toEqual([]);
  });
});
