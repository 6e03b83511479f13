import { afterEach, describe, expect, it } from '@jest/globals';
import { examine } from './doctor.ts';
import type { Examination, Finding } from './finding.ts';
import { type Flaw, json, type Said, serveFakeEndpoint } from './testdata/fake-endpoint.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

interface Looked {
  findings: Finding[];
  registered: number;
}

async function look(
  flaw?: Flaw,
  more: { register?: boolean; token?: string; path?: string; host?: string } = {},
): Promise<Looked> {
  const fake = await serveFakeEndpoint(flaw);
  open.push(fake.close);
  const url = `${fake.origin.replace('127.0.0.1', more.host ?? '127.0.0.1')}${more.path ?? '/mcp'}`;
  const findings = await examine({ url, token: more.token, register: more.register ?? false });
  return { findings, registered: fake.registered() };
}

const marked = (findings: Finding[], ...verdicts: Finding['verdict'][]) =>
  findings.filter(({ verdict }) => verdicts.includes(verdict)).map(({ check }) => check);

/** Returns the usual JSON answer with other members. */
const changed = (usual: Said, members: object): Said =>
  json({ ...(JSON.parse(usual.body ?? '{}') as object), ...members });
const at =
  (path: string, say: (origin: string, usual: Said) => Said): Flaw =>
  (asked, origin, usual) =>
    asked.path === path ? say(origin, usual) : undefined;
const server =
  (say: (origin: string) => object): Flaw =>
  (asked, origin, usual) =>
    /oauth-authorization-server|openid-configuration/.test(asked.path) ? changed(usual, say(origin)) : undefined;

describe('vmcp doctor at a correct endpoint', () => {
  it('passes every check, with a login and a registered client', async () => {
    const { findings, registered } = await look(undefined, { register: true, token: 'good' });
    expect(findings.filter(({ verdict }) => verdict !== 'ok')).toEqual([]);
    expect(findings.length).toBeGreaterThan(25);
    expect(registered).toBe(4);
  });

  it('registers no client without --register, and reports the skipped checks', async () => {
    const { findings, registered } = await look();
    expect(registered).toBe(0);
    expect(marked(findings, 'failed', 'warning')).toEqual([]);
    expect(marked(findings, 'skipped')).toEqual([
      'registration of real clients',
      'authorization request',
      'refusals',
      'extensions',
    ]);
    expect(findings.find(({ check }) => check === 'registration of real clients')?.why).toContain(
      'cannot be taken back',
    );
  });
});

describe('vmcp doctor at a server that redeems identity assertions', () => {
  const PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';
  const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const METHODS = ['none', 'client_secret_basic'];
  const advertised = (members: object): Flaw =>
    server(() => ({
      ...{ authorization_grant_profiles_supported: [PROFILE], grant_types_supported: [GRANT] },
      ...{ token_endpoint_auth_methods_supported: METHODS, ...members },
    }));

  it('checks the grant and the authentication of its clients', async () => {
    const { findings } = await look(advertised({}));
    expect(marked(findings, 'ok')).toEqual(
      expect.arrayContaining(['identity assertions', 'clients of identity assertions']),
    );
    expect(marked((await look()).findings, 'ok')).not.toContain('identity assertions');
  });

  it.each<[string, string, Finding['verdict'], Flaw]>([
    ['lists no grant', 'identity assertions', 'failed', advertised({ grant_types_supported: ['authorization_code'] })],
    [
      'has public clients only',
      'clients of identity assertions',
      'warning',
      advertised({ token_endpoint_auth_methods_supported: ['none'] }),
    ],
    [
      'does not know its grant',
      'identity assertions',
      'failed',
      (asked, origin, usual) =>
        asked.body.includes('jwt-bearer')
          ? json({ error: 'unsupported_grant_type' }, 400)
          : advertised({})(asked, origin, usual),
    ],
  ])('reports a server that %s', async (_case, check, verdict, flaw) => {
    expect(marked((await look(flaw)).findings, verdict)).toContain(check);
  });
});

describe('vmcp doctor at an endpoint with extensions', () => {
  const backend = (name: string, ...extensions: string[]) => ({
    ...{ name, extensions, phase: 'Ready', tools: 1, auth: '', url: '', message: '', loginUrl: null },
  });
  const condition = {
    type: 'RuntimeWarning',
    status: 'True',
    reason: 'RuntimeReported',
    lastTransitionTime: '',
  } as const;
  const offering = at('/mcp', (_origin, usual) =>
    usual.body?.includes('"result":{}') === true
      ? { ...changed(usual, { result: { capabilities: { tasks: {} } } }), headers: usual.headers ?? {} }
      : usual,
  );
  const inspect = async (flaw: Flaw | undefined, endpoint: Examination['endpoint']) => {
    const fake = await serveFakeEndpoint(flaw);
    open.push(fake.close);
    const all = await examine({ url: `${fake.origin}/mcp`, token: 'good', register: false, endpoint });
    return all.filter(({ check }) => /extension|apps/.test(check));
  };

  it('names the backends that offer them, and warns if clients do not get them', async () => {
    const endpoint = { backends: [backend('a', 'tasks', 'apps'), backend('b', 'tasks')], conditions: [] };
    expect(await inspect(offering, endpoint)).toMatchObject([
      { check: 'extension apps', verdict: 'ok', why: 'clients get it (from a)' },
      { check: 'extension tasks', verdict: 'ok', why: 'clients get it (from a, b)' },
    ]);
    expect((await inspect(undefined, endpoint))[1]).toMatchObject({
      verdict: 'warning',
      why: 'clients do not get it (from a, b)',
    });
  });

  it('warns of apps whose URIs or calls collide', async () => {
    const message = 'apps of b have URIs of another backend';
    const conditions = [
      { ...condition, message },
      { ...condition, message: 'tools x' },
    ];
    expect((await inspect(undefined, { backends: [], conditions })).at(-1)).toMatchObject({
      check: 'apps of several backends',
      verdict: 'warning',
      why: message,
    });
  });
});

describe('vmcp doctor at an endpoint that no client can use', () => {
  it.each<[what: string, check: string, why: RegExp, flaw: Flaw]>([
    ['a wrong path', 'endpoint answers', /no MCP endpoint/, at('/mcp', () => ({ status: 404 }))],
    ['a redirect', 'endpoint answers', /redirects/, at('/mcp', () => ({ status: 301, headers: { location: '/x' } }))],
    ['a 500', 'endpoint answers', /500/, at('/mcp', () => ({ status: 500 }))],
    ['a 401 without a challenge', 'challenge', /no "WWW-Authenticate/, at('/mcp', () => ({ status: 401 }))],
    [
      'a challenge without resource_metadata',
      'challenge',
      /resource_metadata/,
      at('/mcp', () => ({ status: 401, headers: { 'www-authenticate': 'Bearer realm="x"' } })),
    ],
    [
      'a resource with a slash at the end',
      'resource is the URL',
      /a slash at the end/,
      at('/.well-known/oauth-protected-resource/mcp', (origin, usual) =>
        changed(usual, { resource: `${origin}/mcp/` }),
      ),
    ],
    [
      'a resource in capitals',
      'resource is the URL',
      /path/,
      at('/.well-known/oauth-protected-resource/mcp', (origin, usual) => changed(usual, { resource: `${origin}/MCP` })),
    ],
    [
      'no authorization server',
      'authorization server',
      /name no authorization server/,
      at('/.well-known/oauth-protected-resource/mcp', (_origin, usual) =>
        changed(usual, { authorization_servers: [] }),
      ),
    ],
    [
      'an authorization server on http over the network',
      'authorization server',
      /http over the network/,
      at('/.well-known/oauth-protected-resource/mcp', (_origin, usual) =>
        changed(usual, { authorization_servers: ['http://mcp.example'] }),
      ),
    ],
    ['another issuer in its metadata', 'issuer', /differ by a slash/, server((origin) => ({ issuer: `${origin}/` }))],
    [
      'no S256',
      'code_challenge_methods_supported',
      /no S256/,
      server(() => ({ code_challenge_methods_supported: ['plain'] })),
    ],
    ['no code flow', 'response_types_supported', /no code/, server(() => ({ response_types_supported: ['token'] }))],
    ['no token endpoint', 'token_endpoint', /missing/, server(() => ({ token_endpoint: undefined }))],
    ['no registration', 'registration', /RFC 7591/, server(() => ({ registration_endpoint: undefined }))],
    ['no keys', 'keys', /no key/, at('/jwks.json', () => json({ keys: [] }))],
    ['keys that are none', 'keys', /no key/, at('/jwks.json', () => json({ keys: [null] }))],
    [
      'private keys in public',
      'keys',
      /publishes private keys/,
      at('/jwks.json', () => json({ keys: [{ kid: 'a', d: 'x' }] })),
    ],
    [
      'a forgotten client that is told invalid_grant',
      'forgotten client',
      /400 invalid_grant/,
      at('/oauth/token', () => json({ error: 'invalid_grant' }, 400)),
    ],
    [
      'a redirect for a client that nobody knows',
      'unknown client at authorize',
      /address that is not registered/,
      (asked) =>
        asked.path === '/oauth/authorize'
          ? { status: 302, headers: { location: `${asked.query.get('redirect_uri') ?? ''}?error=x` } }
          : undefined,
    ],
    [
      'a crash at a probe',
      'GET before initialize',
      /500/,
      (asked) => (asked.path === '/mcp' && asked.method === 'GET' ? { status: 500 } : undefined),
    ],
  ])('%s', async (_what, check, why, flaw) => {
    const { findings } = await look(flaw);
    const found = findings.find((finding) => finding.check === check);
    expect(found).toMatchObject({ verdict: 'failed', why: expect.stringMatching(why) });
    expect(found?.remedy).not.toBe('');
  });

  it.each<[what: string, check: string, why: RegExp, flaw: Flaw]>([
    [
      'a registration that refuses private schemes',
      'registration as Cursor',
      /400 invalid_redirect_uri/,
      (asked) =>
        asked.path === '/oauth/register' && asked.body.includes('cursor://')
          ? json({ error: 'invalid_redirect_uri' }, 400)
          : undefined,
    ],
    [
      'a registration that drops a redirect URI',
      'registration as VS Code',
      /33418/,
      (asked, _origin, usual) =>
        asked.path === '/oauth/register' && asked.body.includes('vscode.dev')
          ? { ...changed(usual, { redirect_uris: ['https://vscode.dev/redirect'] }), status: 201 }
          : undefined,
    ],
    [
      'an authorization request that works once',
      'authorization request, twice',
      /the second time/,
      (() => {
        let times = 0;
        return (asked) => {
          if (asked.path !== '/oauth/authorize' || asked.query.get('client_id') !== 'client-0') return undefined;
          times += 1;
          return times === 2 ? { status: 400 } : undefined;
        };
      })(),
    ],
    [
      'an unknown scope that is fatal',
      'unknown scope',
      /invalid_scope/,
      (asked) =>
        asked.query.get('scope')?.includes('unknown') === true
          ? { status: 302, headers: { location: `${asked.query.get('redirect_uri') ?? ''}?error=invalid_scope` } }
          : undefined,
    ],
    [
      'an error without iss although it is advertised',
      'iss in answers',
      /without it/,
      (asked) =>
        asked.query.get('response_type') === 'token'
          ? { status: 302, headers: { location: `${asked.query.get('redirect_uri') ?? ''}?error=x` } }
          : undefined,
    ],
  ])('%s', async (_what, check, why, flaw) => {
    const { findings } = await look(flaw, { register: true });
    expect(findings.find((finding) => finding.check === check)).toMatchObject({
      verdict: 'failed',
      why: expect.stringMatching(why),
    });
  });

  it('fails for a refused token', async () => {
    const { findings } = await look(undefined, { token: 'bad' });
    expect(findings.find(({ check }) => check === 'token')).toMatchObject({ verdict: 'failed' });
  });

  it('rejects another host name of this machine than the endpoint names', async () => {
    // The fake answers to this name too, like a server that is bound to loopback.
    const flaw: Flaw = (asked, origin, usual) =>
      asked.path === '/mcp' && asked.headers.host?.startsWith('localhost') === true
        ? {
            status: 401,
            headers: {
              'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
            },
          }
        : usual;
    const { findings } = await look(flaw, { host: 'localhost' });
    expect(findings.find(({ check }) => check === 'resource is the URL')).toMatchObject({
      verdict: 'failed',
      why: expect.stringContaining('to a client 127.0.0.1 and localhost are two hosts'),
    });
  });

  it.each(['file:///etc/passwd', 'mailto:a@b.example'])(
    'rejects a URL that is not http or https: %s',
    async (endpoint) => {
      const flaw = server(() => ({
        authorization_endpoint: endpoint,
        jwks_uri: endpoint,
        registration_endpoint: endpoint,
      }));
      const { findings } = await look(flaw, { register: true });
      const said = findings.filter(({ verdict }) => verdict === 'failed').map(({ why }) => why);
      expect(said).toContainEqual(expect.stringContaining('it is no http or https URL'));
    },
  );

  it('fails if nothing listens', async () => {
    const findings = await examine({ url: 'http://127.0.0.1:1/mcp', token: undefined, register: false });
    expect(findings).toEqual([
      expect.objectContaining({ verdict: 'failed', why: expect.stringContaining('nothing listens there') }),
    ]);
  });
});

describe('vmcp doctor at an endpoint that some clients cannot use', () => {
  it.each<[what: string, check: string, flaw: Flaw]>([
    [
      'metadata at one of the places only',
      'resource metadata /.well-known/oauth-protected-resource',
      at('/.well-known/oauth-protected-resource', () => ({ status: 404 })),
    ],
    [
      'one form of the server metadata',
      'server metadata /.well-known/openid-configuration',
      at('/.well-known/openid-configuration', () => ({ status: 404 })),
    ],
    [
      'no public clients',
      'token_endpoint_auth_methods_supported',
      server(() => ({ token_endpoint_auth_methods_supported: ['client_secret_basic'] })),
    ],
    ['keys without names', 'keys', at('/jwks.json', () => json({ keys: [{ kty: 'EC' }] }))],
    [
      'a foreign Host that is let in',
      'foreign Host',
      (asked) => (asked.path === '/mcp' && asked.headers.host === 'rebinding.example' ? { status: 401 } : undefined),
    ],
    [
      'a foreign Origin that is let in',
      'foreign Origin',
      (asked) => (asked.path === '/mcp' && asked.headers.origin !== undefined ? { status: 200 } : undefined),
    ],
    [
      'a 404 to a call of an unknown tool',
      'refusals',
      (asked) => (asked.body.includes('no_such_tool') ? { status: 404 } : undefined),
    ],
  ])('%s', async (_what, check, flaw) => {
    const { findings } = await look(flaw, { token: 'good' });
    expect(findings.find((finding) => finding.check === check)).toMatchObject({ verdict: 'warning' });
  });
});
