import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { listenOn } from '#runtime/http/listen-on';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import { serveProtected, type ProtectedServer } from '../fakes/remote-server/serve-protected.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { Robot } from '../robot/robot.ts';
import { textOf } from '../robot/page.ts';
import { closeAll, closing } from './gateway-to.ts';

type RemoteAuth = Extract<NonNullable<RunConfigDocument['backends'][number]['auth']>, { type: 'remote_auth' }>;

const SEALING = randomBytes(32).toString('base64url');
let folder: string;
const alice = { user: 'alice' };

let issuer: IdentityProvider;
let remote: ProtectedServer;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-remote-'));
  closing({ close: () => rmSync(folder, { recursive: true, force: true }) });
  issuer = closing(await serveIdentityProvider({ tokenLifetime: 3600 }));
  remote = closing(await serveProtected({ issuer: issuer.issuer }));
});
afterEach(closeAll);

const authOf = (more: Partial<RemoteAuth> = {}): RemoteAuth => ({
  type: 'remote_auth',
  storage: { type: 'sqlite', file: join(folder, 'remote.sqlite') },
  sealing_secret_files: ['sealing'],
  owner: { namespace: 'e2e', name: 'remote', uid: 'u' },
  ...more,
});

/** Starts a gateway in front of the remote server and a plain one. */
async function gatewayOf(
  auth: RemoteAuth,
  url = remote.url,
  files: Record<string, string> = {},
): Promise<ServedGateway> {
  const beside = closing(await servePlain({ tools: 1 }));
  return closing(
    await serveGateway(
      {
        incoming: { type: 'anonymous' },
        operational: { failure_handling: { health_check_interval: '1s' } },
        backends: [
          { name: 'remote', transport: 'streamable-http', url, auth },
          { name: 'beside', transport: 'streamable-http', url: beside.url },
        ],
      },
      { files: { sealing: SEALING, ...files } },
    ),
  );
}

interface BackendStatus {
  name: string;
  phase: string;
  message: string;
  login_url: string | null;
}

async function statusOf({ runtime }: ServedGateway): Promise<BackendStatus> {
  const { text } = await send(`http://127.0.0.1:${runtime.address.privatePort}/status`, 'GET', {});
  const { backends } = JSON.parse(text) as { backends: BackendStatus[] };
  return backends.find(({ name }) => name === 'remote')!;
}

const loginUrl = async (gateway: ServedGateway) => {
  const { login_url: url } = await eventually(
    () => statusOf(gateway),
    (status) => status.login_url !== null,
  );
  return url ?? '';
};

async function logIn(gateway: ServedGateway, robot = new Robot()) {
  const page = await robot.walk(await loginUrl(gateway), alice);
  return { status: page.status, text: textOf(page) };
}

const ready = (gateway: ServedGateway) =>
  eventually(
    () => statusOf(gateway),
    ({ phase }) => phase === 'ready',
  );

async function whoAmI(gateway: ServedGateway): Promise<Record<string, unknown>> {
  const client = await SessionClient.open(gateway.url);
  const { answer } = await client.call('remote_whoami', {});
  return (answer.result?.structuredContent ?? { error: answer.error?.message }) as Record<string, unknown>;
}

describe('a login at a remote server', () => {
  it('finds its server by the challenge, registers, and serves every caller with its token', async () => {
    const gateway = await gatewayOf(authOf());
    expect(await statusOf(gateway)).toMatchObject({ phase: 'degraded' });
    const { status, text } = await logIn(gateway);
    expect([status, text]).toEqual([200, expect.stringContaining('You are logged in')]);
    await ready(gateway);
    expect(await whoAmI(gateway)).toMatchObject({ subject: 'alice', audience: [remote.url] });
    expect((await statusOf(gateway)).login_url).toBeNull();
  });

  it("affects only that server's tools while it is missing, and says what to do", async () => {
    const gateway = await gatewayOf(authOf());
    await loginUrl(gateway);
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(['beside_tool_0']);
    expect((await statusOf(gateway)).message).toBe(
      'backend remote needs a login at its server by who runs this gateway',
    );
  });

  it('survives a server that answers with a stream instead of a challenge', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {}\n\n');
    });
    const url = `http://127.0.0.1:${await listenOn(server, '127.0.0.1', 0)}/mcp`;
    closing({
      close() {
        server.close();
        server.closeAllConnections();
      },
    });
    const sealing = join(folder, 'sealing');
    writeFileSync(sealing, SEALING);
    const auth = authOf({ sealing_secret_files: [sealing] });
    const backends = [{ name: 'remote', transport: 'streamable-http' as const, url, auth }];
    const { privateUrl, stop } = await startGateway({ incoming: { type: 'anonymous' }, backends });
    closing({ close: stop });
    const { text } = await send(`${privateUrl}/status`, 'GET', {});
    const [{ login_url: start } = { login_url: '' }] = (JSON.parse(text) as { backends: BackendStatus[] }).backends;
    expect((await fetch(start ?? '')).status).toBe(400);
    expect((await fetch(`${privateUrl}/readyz`)).status).toBe(200);
  });

  it('outlives a restart', async () => {
    const before = await gatewayOf(authOf());
    await logIn(before);
    await ready(before);
    await before.close();
    const after = await gatewayOf(authOf());
    await ready(after);
    expect(await whoAmI(after)).toMatchObject({ subject: 'alice' });
  });

  it('at one process reaches another one that waits for it', async () => {
    const [first, second] = [await gatewayOf(authOf()), await gatewayOf(authOf())];
    await loginUrl(second);
    await logIn(first);
    await ready(second);
    expect(await whoAmI(second)).toMatchObject({ subject: 'alice' });
  });

  it('stays sealed in its store', async () => {
    const gateway = await gatewayOf(authOf());
    await logIn(gateway);
    await ready(gateway);
    await gateway.close();
    const stored = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'));
    const token = remote.tokens.at(-1) ?? '';
    expect(token).not.toBe('');
    expect(stored.join('')).toContain('remote-');
    expect(stored.join('')).not.toContain(token);
    expect(gateway.log()).not.toContain(token);
  });

  it('does not serve another server, or a resource of the same name', async () => {
    const first = await gatewayOf(authOf());
    await logIn(first);
    const elsewhere = closing(await serveProtected({ issuer: issuer.issuer }));
    expect(await loginUrl(await gatewayOf(authOf(), elsewhere.url))).toContain('/login/remote/');
    const owner = { namespace: 'e2e', name: 'remote', uid: 'another' };
    expect(await loginUrl(await gatewayOf(authOf({ owner })))).toContain('/login/remote/');
    expect(elsewhere.tokens).toEqual([]);
  });

  it('renews before its token ends, and after the server refused it', async () => {
    const gateway = await gatewayOf(authOf());
    await logIn(gateway);
    await ready(gateway);
    const first = remote.tokens.at(-1);
    remote.refuse(first);
    expect(await whoAmI(gateway)).toMatchObject({ subject: 'alice' });
    expect(remote.tokens.at(-1)).not.toBe(first);
  });

  it('renews once for all calls of all processes', async () => {
    const [first, second] = [await gatewayOf(authOf()), await gatewayOf(authOf())];
    await logIn(first);
    await Promise.all([ready(first), ready(second)]);
    const token = remote.tokens.at(-1);
    const clients = await Promise.all([first, first, second, second].map(({ url }) => SessionClient.open(url)));
    for (const client of clients) await client.toolNames();
    const asked = issuer.counts.get('token') ?? 0;
    remote.refuse(token);
    const calls = clients.flatMap((client) => [1, 2, 3].map(() => client.call('remote_whoami', {})));
    for (const { answer } of await Promise.all(calls)) {
      expect(answer.result?.structuredContent).toMatchObject({ subject: 'alice' });
    }
    expect(issuer.counts.get('token')).toBe(asked + 1);
  });

  it('survives an outage of the token endpoint', async () => {
    const gateway = await gatewayOf(authOf());
    await logIn(gateway);
    await ready(gateway);
    issuer.setFault('token', 'fail');
    remote.refuse(remote.tokens.at(-1));
    expect(await whoAmI(gateway)).toHaveProperty('error');
    issuer.setFault('token', undefined);
    await eventually(
      () => whoAmI(gateway),
      ({ subject }) => subject === 'alice',
    );
  });

  it('becomes necessary again if its server has forgotten it, and the client registers again', async () => {
    const gateway = await gatewayOf(authOf());
    await logIn(gateway);
    await ready(gateway);
    await issuer.close();
    issuer = closing(await serveIdentityProvider({ port: issuer.port }));
    remote.refuse(remote.tokens.at(-1));
    expect((await whoAmI(gateway)).error).toBe('backend remote needs a login at its server by who runs this gateway');
    expect((await logIn(gateway)).text).toContain('You are logged in');
    await ready(gateway);
    expect(await whoAmI(gateway)).toMatchObject({ subject: 'alice' });
  });

  it('uses the configured client and port', async () => {
    const port = await findFreePort();
    const known = closing(await serveIdentityProvider({ redirectUris: [`http://localhost:${port}/callback`] }));
    const server = closing(await serveProtected({ issuer: known.issuer }));
    const client = { client_id: GATEWAY_CLIENT.id, client_secret_file: 'secret' };
    const auth = authOf({ issuer: known.issuer, ...client, callback_port: port, scopes: ['mcp'] });
    const gateway = await gatewayOf(auth, server.url, { secret: GATEWAY_CLIENT.secret });
    expect((await logIn(gateway)).text).toContain('You are logged in');
    await ready(gateway);
    expect(await whoAmI(gateway)).toMatchObject({ subject: 'alice', scopes: ['mcp'] });
    await expect(fetch(`http://127.0.0.1:${port}/callback`)).rejects.toThrow();
  });

  it('needs no discovery with configured endpoints and client', async () => {
    const port = await findFreePort();
    const known = closing(await serveIdentityProvider({ redirectUris: [`http://localhost:${port}/callback`] }));
    const server = closing(await serveProtected({ issuer: known.issuer, names: false }));
    const endpoints = { authorize_url: `${known.issuer}/auth`, token_url: known.tokenUrl };
    const own = { client_id: GATEWAY_CLIENT.id, client_secret_file: 'secret', callback_port: port, scopes: ['mcp'] };
    const gateway = await gatewayOf(authOf({ ...endpoints, ...own }), server.url, { secret: GATEWAY_CLIENT.secret });
    expect((await logIn(gateway)).text).toContain('You are logged in');
    expect(known.counts.get('discovery')).toBeUndefined();
  });

  it('sends the configured parameters, and no PKCE if that is off', async () => {
    const before = (at: URL) => at.searchParams.has('client_id');
    const sent = async (more: Partial<RemoteAuth>) => {
      const { next } = await new Robot().open(await loginUrl(await gatewayOf(authOf(more))), { before });
      return Object.fromEntries(next?.searchParams ?? []);
    };
    expect(await sent({ oauth_params: { prompt: 'consent' } })).toMatchObject({
      prompt: 'consent',
      code_challenge: expect.any(String),
      code_challenge_method: 'S256',
    });
    const plain = await sent({ use_pkce: false });
    expect(plain).toMatchObject({ response_type: 'code' });
    expect(Object.keys(plain).filter((name) => name.startsWith('code_'))).toEqual([]);
  });

  it('closes the port of its callback after its timeout', async () => {
    const callback_port = await findFreePort();
    const gateway = await gatewayOf(authOf({ callback_port, timeout: '1s' }));
    await new Robot().open(await loginUrl(gateway), { before: (at) => at.searchParams.has('client_id') });
    const isOpen = () => fetch(`http://127.0.0.1:${callback_port}/callback`).then(Boolean, () => false);
    expect(await isOpen()).toBe(true);
    await eventually(isOpen, (open) => !open);
  });
});

describe('the begin or the end of a login', () => {
  it('works again after an unfinished login, as another client', async () => {
    const gateway = await gatewayOf(authOf());
    const clients: (string | null)[] = [];
    const before = (at: URL) => at.searchParams.has('client_id');
    for (let times = 0; times < 2; times += 1) {
      const { next } = await new Robot().open(await loginUrl(gateway), { before });
      clients.push(next?.searchParams.get('client_id') ?? null);
    }
    expect(new Set(clients).size).toBe(2);
    expect((await logIn(gateway)).text).toContain('You are logged in');
  });

  it('requires the URL of the status', async () => {
    const gateway = await gatewayOf(authOf());
    const url = new URL(await loginUrl(gateway));
    for (const path of ['/login/remote/', '/login/remote/guess', '/login/beside/x', '/login/none/x']) {
      expect((await send(`${url.origin}${path}`, 'GET', {})).status).toBe(404);
    }
    expect((await send(url.href, 'HEAD', {})).status).toBe(404);
    expect((await send(url.href, 'GET', { host: 'evil.example' })).status).toBe(403);
    expect((await send(`http://127.0.0.1:${gateway.runtime.address.port}${url.pathname}`, 'GET', {})).status).toBe(404);
  });

  it('refuses a callback with an unknown or used state', async () => {
    const gateway = await gatewayOf(authOf());
    const robot = new Robot();
    let callback: URL | undefined;
    const before = (at: URL) => {
      if (at.pathname.endsWith('/callback')) callback = at;
      return false;
    };
    const page = await robot.walk(await loginUrl(gateway), alice, { before });
    expect(page.status).toBe(200);
    const again = await robot.open(callback!);
    expect([again.status, textOf(again)]).toEqual([400, expect.stringContaining('This login is over')]);
    const forged = await robot.open(`${callback!.origin}${callback!.pathname}?code=x&state=forged`);
    expect(forged.status).toBe(400);
  });

  it('shows a page that a browser displays and does not share', async () => {
    const gateway = await gatewayOf(authOf());
    const { headers } = await fetch(new URL('/login/remote/guess', await loginUrl(gateway)));
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    const begun = await fetch(await loginUrl(gateway), { redirect: 'manual' });
    expect([begun.status, begun.headers.get('referrer-policy')]).toEqual([303, 'no-referrer']);
    const sent = new URL(begun.headers.get('location') ?? '').searchParams;
    expect(Object.fromEntries(sent)).toMatchObject({
      ...{ response_type: 'code', code_challenge_method: 'S256', resource: remote.url },
      ...{ state: expect.stringMatching(/^\S{43}$/), code_challenge: expect.stringMatching(/^\S{43}$/) },
    });
  });

  it("reports the person's denial", async () => {
    const gateway = await gatewayOf(authOf());
    const robot = new Robot();
    const page = await robot.walk(await loginUrl(gateway), { user: 'alice', denies: () => true });
    expect(textOf(page)).toContain('The login was refused there.');
  });
});

describe('a login at a misconfigured remote server', () => {
  const refusal = async (auth: Partial<RemoteAuth>, server: ProtectedServer) =>
    (await logIn(await gatewayOf(authOf(auth), server.url))).text;

  it('fails if its metadata names another resource', async () => {
    const server = closing(
      await serveProtected({ issuer: issuer.issuer, metadata: { resource: 'https://other.example/mcp' } }),
    );
    expect(await refusal({}, server)).toContain('its metadata is of another resource (other.example)');
  });

  it('fails if it leads to a private address that the configuration does not name', async () => {
    const metadata = { authorization_servers: ['https://10.1.2.3/'] };
    const server = closing(await serveProtected({ issuer: issuer.issuer, metadata }));
    expect(await refusal({}, server)).toContain('10.1.2.3 is a private address that nobody wrote');
  });

  it('fails if it leads to plain http', async () => {
    const metadata = { authorization_servers: ['http://login.example'] };
    const server = closing(await serveProtected({ issuer: issuer.issuer, metadata }));
    expect(await refusal({}, server)).toContain('login.example is not called over http:');
  });

  it.each(['http://login.example/auth', 'javascript:alert(1)'])('fails if it sends the browser to %s', async (page) => {
    const http = createServer((_request, response) => {
      const document = { issuer: origin, authorization_endpoint: page, token_endpoint: `${origin}/token` };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    });
    await listenOn(http, '127.0.0.1', 0);
    closing({ close: () => http.close() });
    const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const server = closing(
      await serveProtected({ issuer: issuer.issuer, metadata: { authorization_servers: [origin] } }),
    );
    expect(await refusal({}, server)).toContain('its authorization endpoint is not https');
  });

  it('sends neither a code nor a refresh token to a new issuer', async () => {
    const metadata = { authorization_servers: [issuer.issuer] };
    const server = closing(await serveProtected({ issuer: issuer.issuer, metadata }));
    const other = closing(await serveIdentityProvider());
    const before = await gatewayOf(authOf(), server.url);
    const start = await loginUrl(before);
    await logIn(before);
    await ready(before);
    // Begins a login at the former issuer, and returns after the change of issuers.
    const isBack = (at: URL) => at.pathname.endsWith('/callback');
    const { next } = await new Robot().walk(start, alice, { before: isBack });
    metadata.authorization_servers = [other.issuer];
    const after = await gatewayOf(authOf(), server.url);
    await ready(after);
    server.refuse(server.tokens.at(-1));
    expect((await whoAmI(after)).error).toBe('backend remote needs a login at its server by who runs this gateway');
    const callback = new URL((next?.pathname ?? '') + (next?.search ?? ''), await loginUrl(after));
    const page = await new Robot().open(callback);
    expect([page.status, textOf(page)]).toEqual([400, expect.stringContaining('another one now: log in again')]);
    expect(other.counts.get('token')).toBeUndefined();
  });

  it('fails if its issuer calls itself another one', async () => {
    const metadata = { authorization_servers: [issuer.issuer.replace('127.0.0.1', 'localhost')] };
    const server = closing(await serveProtected({ issuer: issuer.issuer, metadata }));
    expect(await refusal({ issuer: issuer.issuer.replace('127.0.0.1', 'localhost') }, server)).toContain(
      'calls itself another issuer',
    );
  });
});
