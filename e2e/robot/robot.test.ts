import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import { isRedirectOf, Robot } from './robot.ts';

const REDIRECT = 'http://127.0.0.1:1/callback';
const opened: IdentityProvider[] = [];
let provider: IdentityProvider;

beforeEach(async () => {
  provider = await start();
});
afterEach(() => Promise.all(opened.splice(0).map((server) => server.close())));

async function start(): Promise<IdentityProvider> {
  const server = await serveIdentityProvider({ redirectUris: [REDIRECT] });
  opened.push(server);
  return server;
}

function authorizeUrl({ issuer }: IdentityProvider, state: string): string {
  const query = {
    response_type: 'code',
    client_id: GATEWAY_CLIENT.id,
    redirect_uri: REDIRECT,
    scope: 'openid profile email',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  return `${issuer}/auth?${new URLSearchParams({ ...query, state }).toString()}`;
}

describe('the robot browser', () => {
  it('logs a person in at a provider and stops before the client', async () => {
    const end = await new Robot().login(authorizeUrl(provider, 'one'), { user: 'alice' });
    expect(end.href).toContain(REDIRECT);
    expect(end.searchParams.get('state')).toBe('one');
    expect(end.searchParams.get('code')).toMatch(/^\S{20,}$/);
  });

  it('keeps the provider’s session, and shares it with no other browser', async () => {
    const robot = new Robot();
    await robot.login(authorizeUrl(provider, 'one'), { user: 'alice' });
    await expect(robot.login(authorizeUrl(provider, 'two'), {})).resolves.toBeDefined();
    await expect(new Robot().login(authorizeUrl(provider, 'three'), {})).rejects.toThrow('nobody is to log in');
  });

  it('keeps the sessions of two providers on one machine apart', async () => {
    const robot = new Robot();
    const other = await start();
    await robot.login(authorizeUrl(provider, 'one'), { user: { [new URL(provider.issuer).host]: 'alice' } });
    await robot.login(authorizeUrl(other, 'two'), { user: { [new URL(other.issuer).host]: 'bob' } });
    await expect(robot.login(authorizeUrl(provider, 'three'), {})).resolves.toBeDefined();
    await expect(robot.login(authorizeUrl(other, 'four'), {})).resolves.toBeDefined();
  });

  it('denies if the person denies', async () => {
    const denies = () => true;
    const end = await new Robot().login(authorizeUrl(provider, 'one'), { user: 'alice', denies });
    expect(end.searchParams.get('error')).toBe('access_denied');
  });

  it('stops at a page, and continues from it', async () => {
    const robot = new Robot();
    const url = authorizeUrl(provider, 'one');
    const page = await robot.walk(url, {}, { at: ({ forms }) => forms.length > 0 });
    expect(page.forms[0]?.fields.map(({ name }) => name)).toContain('login');
    const end = await robot.walk(page, { user: 'bob' }, { before: isRedirectOf(url) });
    expect(end.next?.searchParams.get('state')).toBe('one');
  });
});

describe('the robot browser as a program', () => {
  it('logs in and visits the program that waits for the answer', async () => {
    const visited: string[] = [];
    const program = createServer((req, res) => {
      visited.push(req.url ?? '');
      res.end('done');
    });
    await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve));
    const redirect = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
    const idp = await serveIdentityProvider({ redirectUris: [redirect] });
    opened.push(idp);
    const url = authorizeUrl(idp, 'one').replace(encodeURIComponent(REDIRECT), encodeURIComponent(redirect));
    const main = new URL('main.ts', import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [main, '--user', 'alice', url], { timeout: 20_000 });
    program.closeAllConnections();
    await new Promise((resolve) => program.close(resolve));
    expect(JSON.parse(stdout)).toEqual({ status: 200, url: redirect });
    expect(visited).toEqual([expect.stringMatching(/^\/callback\?code=\S+&state=one/)]);
  });
});

describe('cookies of the robot browser', () => {
  it('stay away from other hosts, from http if Secure, and from foreign forms if Lax', () => {
    const { cookies } = new Robot();
    const url = new URL('http://127.0.0.1:5/');
    cookies.take(url, ['a=1; Path=/; SameSite=Lax', 'b=2; Path=/; Secure', '__Host-c=3; Path=/', 'd=4; Path=/deep']);
    const post = { method: 'POST', crossSite: true } as const;
    expect(cookies.header(url, { method: 'GET', crossSite: true })).toBe('a=1');
    expect(cookies.header(url, post)).toBe('');
    expect(cookies.header(new URL('http://127.0.0.1:6/deep/er'), { ...post, crossSite: false })).toBe('a=1; d=4');
    expect(cookies.header(new URL('http://localhost:5/'), { method: 'GET', crossSite: false })).toBe('');
  });
});
