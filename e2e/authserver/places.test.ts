import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Agent, fetch as fetchByUndici, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { makeCertificates } from '../redis/make-certificates.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { Robot } from '../robot/robot.ts';
import { arrange } from './arrangement.ts';
import { whoIs } from './call-tool.ts';
import { claimsOf, OAuthClient, tokensOf } from './oauth-client.ts';
import { accountAt } from './providers.ts';

afterEach(closeAll);

type Document = Readonly<Record<string, unknown>>;
const read = async (url: string) => (await (await fetch(url)).json()) as Document;
/** Returns all URLs in a document. */
const urlsIn = (document: Document) =>
  Object.values(document).filter((value): value is string => typeof value === 'string' && /^https?:/.test(value));

describe('an issuer with a path, and another base for browsers', () => {
  it('appear in all documents, tokens and redirects, at any address', async () => {
    const setup = closing(await arrange());
    const { origin } = setup;
    const [issuer, base] = [`${origin}/tenant/a`, `${origin.replace('127.0.0.1', 'localhost')}/login`];
    const { embedded_auth_server_config: server, incoming } = setup.configOf();
    await setup.restart({
      incoming: { ...incoming, issuer } as typeof incoming,
      embedded_auth_server_config: { ...server!, issuer, authorization_endpoint_base_url: base },
    });
    const kinds = ['oauth-authorization-server', 'openid-configuration'];
    const places = kinds.flatMap((kind) => [
      `${origin}/.well-known/${kind}`,
      `${origin}/.well-known/${kind}/tenant/a`,
      `${issuer}/.well-known/${kind}`,
    ]);
    const documents = await Promise.all(places.map(read));
    for (const document of documents) expect(document).toEqual(documents[0]);
    expect(documents[0]).toMatchObject({ issuer, authorization_endpoint: `${base}/oauth/authorize` });
    for (const url of urlsIn(documents[0]!)) expect(url.startsWith(issuer) || url.startsWith(base)).toBe(true);
    const resource = await read(`${origin}/.well-known/oauth-protected-resource/mcp`);
    expect(resource.authorization_servers).toEqual([issuer]);

    const client = await OAuthClient.register(issuer);
    const begun = client.begin();
    const robot = new Robot();
    const back = await robot.login(begun.url.replace(issuer, base), { user: 'alice' });
    expect(back.searchParams.get('iss')).toBe(issuer);
    const redirectUri = setup.providers.okta?.odd?.of('/authorize')[0]?.query.get('redirect_uri');
    expect(redirectUri).toBe(`${base}/oauth/callback/okta`);
    const tokens = tokensOf(await client.redeem({ ...begun, code: back.searchParams.get('code') ?? '' }));
    expect(claimsOf(tokens.access_token).iss).toBe(issuer);
    expect(accountAt(setup.providers.okta!, await whoIs(setup.resource, tokens.access_token, 'okta'))).toBe('alice');
    expect((await robot.open(`${base}/connections`)).text).toContain('alice');
  });
});

describe('an issuer over TLS', () => {
  it('sets a Secure host-only cookie, and announces only https URLs', async () => {
    const tls = makeCertificates();
    closing({ close: () => tls.remove() });
    const before = getGlobalDispatcher();
    setGlobalDispatcher(new Agent({ connect: { ca: tls.ca } }));
    // Node's built-in fetch has a separate dispatcher.
    const fetches = jest.spyOn(globalThis, 'fetch').mockImplementation(fetchByUndici as unknown as typeof fetch);
    try {
      const setup = closing(await arrange({ tls }));
      const document = await read(`${setup.origin}/.well-known/oauth-authorization-server`);
      for (const url of urlsIn(document)) expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+/);
      const [client, robot] = [await setup.client(), new Robot()];
      const { headers } = await robot.open(client.begin().url);
      const [cookie] = [headers['set-cookie'] ?? []].flat();
      expect(cookie).toMatch(
        /^__Host-vmcp-[\w-]{8}=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/,
      );
      const tokens = await client.login({ user: 'alice' }, { robot });
      expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    } finally {
      fetches.mockRestore();
      setGlobalDispatcher(before);
    }
  });
});
