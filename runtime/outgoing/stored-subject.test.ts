import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError } from '#runtime/errors';
import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { fakeUserTokens, type FakeUserTokens } from '#runtime/authserver/upstream-tokens/testdata/fake-user-tokens';
import { caller } from '#runtime/authserver/upstream-tokens/testdata/setup';
import { createCredential } from './create-credential.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential, CredentialHeaders } from './credential.ts';
import { ExchangedTokens } from './exchanged-tokens.ts';

const URN = 'urn:ietf:params:oauth:token-type:';
const alice = caller('alice');

let server: Server;
let url: string;
let forms: URLSearchParams[];
let userTokens: FakeUserTokens;
let exchanged: ExchangedTokens;
let clock: number;
let opened: Credential[];
beforeEach(async () => {
  forms = [];
  opened = [];
  clock = Date.UTC(2030, 0, 1);
  exchanged = new ExchangedTokens({ now: () => clock });
  userTokens = fakeUserTokens();
  userTokens.link('alice', 'google', 'google-of-alice', { idToken: 'id-of-alice', next: 'google-of-alice-2' });
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      forms.push(new URLSearchParams(body));
      const issued = { access_token: `exchanged-${forms.length}`, issued_token_type: `${URN}access_token` };
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ ...issued, token_type: 'Bearer', expires_in: 3600 }));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
});
afterEach(async () => {
  for (const credential of opened) credential.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function open(document: object = {}, deps: Partial<CredentialDeps> = {}): Credential {
  const ignore = () => undefined;
  const auth = { type: 'token_exchange', token_url: url, subject_provider_name: 'google', ...document };
  const credential = createCredential(BackendAuth.parse(auth), {
    backend: 'files',
    readSecret: () => '',
    exchanged,
    now: () => clock,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    userTokens,
    ...deps,
  });
  opened.push(credential);
  return credential;
}

const headersOf = async (credential: Credential, identity = alice): Promise<CredentialHeaders> =>
  credential.headersFor(identity);

describe('token exchange with a provider’s stored token', () => {
  it('exchanges the raw stored access token, not the caller’s own', async () => {
    const credential = open({ audience: 'backend-a' });
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer exchanged-1']);
    expect(Object.fromEntries(forms[0]!)).toMatchObject({
      subject_token: 'google-of-alice',
      subject_token_type: `${URN}access_token`,
      audience: 'backend-a',
    });
    expect(credential.login?.provider).toBe('google');
  });

  it.each(['id_token', `${URN}id_token`])(
    'exchanges the stored ID token where subject_token_type is %s',
    async (type) => {
      await headersOf(open({ subject_token_type: type }));
      expect(Object.fromEntries(forms[0]!)).toMatchObject({
        subject_token: 'id-of-alice',
        subject_token_type: `${URN}id_token`,
      });
    },
  );

  it('reports that the provider issued no ID token', async () => {
    userTokens.link('alice', 'google', 'google-of-alice');
    const headers = headersOf(open({ subject_token_type: 'id_token' }));
    await expect(headers).rejects.toMatchObject({ answer: { status: 200, code: 'token_exchange_no_id_token' } });
    expect(forms).toHaveLength(0);
  });

  it('renews an ID token that has expired, and uses the exchanged token no longer than the ID token is valid', async () => {
    const idToken = (seconds: number) =>
      new UnsecuredJWT({ iss: 'g', sub: 'a' }).setExpirationTime(clock / 1000 + seconds).encode();
    const [first, second] = [idToken(60), idToken(1_800)];
    userTokens.link('alice', 'google', 'google-of-alice', { idToken: first, nextIdToken: second });
    const credential = open({ subject_token_type: 'id_token' });
    const before = await headersOf(credential);
    clock += 61_000;
    expect(await headersOf(credential)).not.toEqual(before);
    expect(forms.map((form) => form.get('subject_token'))).toEqual([first, second]);
    clock += 1_800_000;
    await expect(headersOf(credential)).rejects.toThrow(LoginNeeded);
    expect(await credential.login?.isReady(alice)).toBe(false);
  });

  it('caches the result for user and token', async () => {
    const credential = open();
    const first = await headersOf(credential);
    expect(credential.headersFor(alice)).toBe(first);
    expect(credential.headersFor({ ...alice, token: 'the same user’s next token' })).toBe(first);
    expect(await headersOf(open())).toBe(first);
    userTokens.link('alice', 'google', 'another');
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer exchanged-2']);
    expect(forms).toHaveLength(2);
  });

  it('never shares a token between users, even if they have linked one account', async () => {
    userTokens.link('bob', 'google', 'google-of-alice');
    const credential = open();
    expect(await headersOf(credential)).toEqual(['authorization', 'Bearer exchanged-1']);
    expect(await headersOf(credential, caller('bob'))).toEqual(['authorization', 'Bearer exchanged-2']);
  });

  it('finds no token for a user who has not logged in there, or has unlinked the account', async () => {
    const credential = open();
    await expect(headersOf(credential, caller('carol'))).rejects.toThrow(LoginNeeded);
    await headersOf(credential);
    userTokens.unlink('alice', 'google');
    await expect(headersOf(credential)).rejects.toThrow(LoginNeeded);
    expect(forms).toHaveLength(1);
  });

  it('renews a refused token once for all calls, then requires a login at the provider', async () => {
    const credential = open();
    const first = await headersOf(credential);
    expect(credential.invalidate(alice, first)).toBe(true);
    expect(credential.invalidate(alice, first)).toBe(true);
    const second = await headersOf(credential);
    expect(second).toEqual(['authorization', 'Bearer exchanged-2']);
    expect(forms).toHaveLength(2);
    expect(credential.login!.refused(alice, second)).toBeInstanceOf(LoginNeeded);
    expect(userTokens.bars).toEqual(['alice|google|google-of-alice']);
  });

  it('refuses a configuration without an authorization server', () => {
    expect(() => open({}, { userTokens: undefined })).toThrow(ConfigError);
  });
});
