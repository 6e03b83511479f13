import { afterEach, describe, expect, it } from '@jest/globals';
import { openRegistries, type OpenRegistries } from './testdata/open-registries.ts';
import { type RegistryServer, serveRegistry } from './testdata/serve-registry.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

interface Api {
  registry: RegistryServer;
  opened: OpenRegistries;
  /** Entries by page. The entity tag of a page depends on the length of its JSON. */
  pages: unknown[][];
  set: () => ReturnType<OpenRegistries['ask']>;
}

/** Serves the official registry API with these pages. */
async function serveApi(...pages: unknown[][]): Promise<Api> {
  const registry = await serveRegistry((request, response) => {
    const url = new URL(request.url ?? '', 'http://registry');
    const at = Number(url.searchParams.get('cursor') ?? '0');
    const tag = `"${JSON.stringify(api.pages[at]).length}"`;
    const isList = url.pathname === '/base/v0.1/servers' && url.searchParams.get('version') === 'latest';
    if (!isList || api.pages[at] === undefined) response.writeHead(404).end();
    else if (request.headers['if-none-match'] === tag) response.writeHead(304).end();
    else {
      const next = at + 1 < api.pages.length ? { nextCursor: String(at + 1) } : {};
      response.writeHead(200, { etag: tag });
      response.end(JSON.stringify({ servers: api.pages[at], metadata: { count: api.pages[at].length, ...next } }));
    }
  });
  closing.push(() => registry.close());
  const opened = await openRegistries();
  closing.push(() => opened.close());
  const set = () =>
    opened.ask('PUT', '/registry/default', { api_url: `${registry.url}/base/`, allow_private_ip: true });
  const api: Api = { registry, opened, pages, set };
  return api;
}

const named = (name: string, more: object = {}) => ({
  server: { name, description: `What ${name} does`, version: '1.0.0', ...more },
  _meta: { [OFFICIAL]: { status: 'active', isLatest: true, updatedAt: '2026-03-01T00:00:00Z' } },
});
const npm = (identifier: string, more: object = {}) => ({
  packages: [{ registryType: 'npm', identifier, version: '2.1.0', transport: { type: 'stdio' }, ...more }],
});

describe('readApi', () => {
  it('rejects a registry above the size limit, however many pages it has', async () => {
    const description = 'x'.repeat(65_000);
    const long = Array.from({ length: 60 }, (_, at) => named(`io.a/${at}`, { ...npm('one'), description }));
    const { set } = await serveApi(...(new Array(18).fill(long) as unknown[][]));
    const { status, body } = await set();
    expect([status, body.code, body.detail]).toEqual([502, 'upstream_failed', expect.stringContaining('bytes')]);
  });

  it('reads all pages', async () => {
    const { set, opened, registry } = await serveApi(
      [named('io.a/one', npm('one')), named('io.a/two', npm('two'))],
      [named('io.b/three', npm('@b/three'))],
      [named('io.c/four', { remotes: [{ type: 'streamable-http', url: 'https://four.example.com/mcp' }] })],
    );
    expect((await set()).body).toMatchObject({ type: 'api', server_count: 4, last_updated: '2026-03-01T00:00:00Z' });
    expect(registry.asked).toHaveLength(3);
    const { body } = await opened.ask('GET', `/registry/default/servers/${encodeURIComponent('io.b/three')}`);
    expect(body).toEqual({
      is_remote: false,
      server: {
        ...{ name: 'io.b/three', description: 'What io.b/three does', status: 'active', transport: 'stdio' },
        ...{ image: 'npx://@b/three@2.1.0', args: [], env_vars: [] },
        metadata: { last_updated: '2026-03-01T00:00:00Z' },
        custom_metadata: { version: '1.0.0' },
      },
    });
  });

  it('uses the first of several servers with the same name, on one page or on several', async () => {
    const { set, opened } = await serveApi(
      [named('io.a/one', npm('first')), named('io.a/one', npm('second')), named('io.a/two', npm('first'))],
      [named('io.a/two', npm('second'))],
    );
    expect((await set()).body.server_count).toBe(2);
    const { servers } = (await opened.ask('GET', '/registry/default/servers')).body;
    expect(servers).toMatchObject([
      { name: 'io.a/one', image: 'npx://first@2.1.0' },
      { name: 'io.a/two', image: 'npx://first@2.1.0' },
    ]);
  });

  it('revalidates each page by its entity tag and reads only changed pages', async () => {
    const { set, opened, registry, pages } = await serveApi(
      [named('io.a/one', npm('one'))],
      [named('io.b/two', npm('two'))],
    );
    await set();
    pages[1] = [named('io.b/two', npm('two')), named('io.b/three', npm('three'))];
    opened.clock.now += 360_000;
    expect((await opened.ask('GET', '/registry')).body.registries[0]?.server_count).toBe(3);
    const [, , first, second] = registry.asked;
    expect([first, second].every((asked) => asked?.headers['if-none-match'] !== undefined)).toBe(true);
  });

  it('maps all fields of server.json', async () => {
    const { set, opened } = await serveApi([
      {
        server: {
          ...{
            name: 'io.x/all',
            title: 'All',
            description: 'Everything',
            version: '3.0.0',
            websiteUrl: 'https://x.io',
          },
          repository: { url: 'https://github.com/x/all', source: 'github' },
          packages: [
            { registryType: 'mcpb', identifier: 'https://x.io/all.mcpb', transport: { type: 'stdio' } },
            {
              ...{ registryType: 'oci', identifier: 'ghcr.io/x/all', version: '3.0.0', runtimeHint: 'docker' },
              transport: { type: 'streamable-http', url: 'http://localhost:9000/mcp' },
              runtimeArguments: [
                { type: 'named', name: '-v', value: '/:/host' },
                { type: 'named', name: '--privileged', value: 'true' },
                { type: 'positional', value: '--pid=host' },
              ],
              packageArguments: [
                { type: 'positional', value: 'serve' },
                { type: 'positional', valueHint: 'folder' },
                { type: 'named', name: '--level', value: '3' },
                { type: 'named', name: '--ask' },
              ],
              environmentVariables: [
                { name: 'KEY', description: 'Key', isRequired: true, isSecret: true, value: '{key}' },
                { name: 'MODE', default: 'fast' },
              ],
            },
          ],
          remotes: [
            { type: 'sse', url: 'https://all.x.io/sse', headers: [{ name: 'X-Key', isSecret: true, choices: ['a'] }] },
          ],
        },
        _meta: { [OFFICIAL]: { status: 'deprecated' } },
      },
    ]);
    await set();
    const { body } = await opened.ask('GET', `/registry/default/servers/${encodeURIComponent('io.x/all')}`);
    const same = {
      ...{ name: 'io.x/all', title: 'All', description: 'Everything', status: 'deprecated' },
      repository_url: 'https://github.com/x/all',
      custom_metadata: { version: '3.0.0', website_url: 'https://x.io' },
    };
    expect(body).toEqual({
      is_remote: false,
      server: {
        ...same,
        ...{
          image: 'ghcr.io/x/all:3.0.0',
          transport: 'streamable-http',
          target_port: 9000,
          args: ['serve', '--level', '3'],
        },
        env_vars: [
          { name: 'KEY', description: 'Key', required: true, secret: true },
          { name: 'MODE', required: false, secret: false, default: 'fast' },
        ],
      },
      remote_server: {
        ...same,
        ...{ url: 'https://all.x.io/sse', transport: 'sse' },
        headers: [{ name: 'X-Key', required: false, secret: true, choices: ['a'] }],
      },
    });
  });

  it.each<[string, unknown]>([
    ['is no entry', 7],
    ['is deleted', { ...named('io.a/x', npm('x')), _meta: { [OFFICIAL]: { status: 'deleted' } } }],
    ['is not the latest', { ...named('io.a/x', npm('x')), _meta: { [OFFICIAL]: { isLatest: false } } }],
    ['has nothing to run', named('io.a/x')],
    ['has a package of another registry', named('io.a/x', npm('x', { registryBaseUrl: 'https://npm.example.com' }))],
    ['names an option as its package', named('io.a/x', npm('--eval=1'))],
    ['names a URL as its package', named('io.a/x', npm('git+https://evil.example/x'))],
    ['names a path as its package', named('io.a/x', npm('../x'))],
    ['has a version that is none', named('io.a/x', npm('x', { version: '1 --eval' }))],
    [
      'names an option as its image',
      named('io.a/x', {
        packages: [{ registryType: 'oci', identifier: '--privileged', transport: { type: 'stdio' } }],
      }),
    ],
    ['is of a kind with a name of Object', named('io.a/x', npm('x', { registryType: 'constructor' }))],
    [
      'is remote, and speaks what programs speak',
      named('io.a/x', { remotes: [{ type: 'stdio', url: 'https://x.example' }] }),
    ],
    ['is remote by a file URL', named('io.a/x', { remotes: [{ type: 'sse', url: 'file:///etc/passwd' }] })],
  ])('skips an entry that %s and keeps the others', async (_what, entry) => {
    const { set, opened } = await serveApi([entry, named('io.a/good', npm('good'))]);
    expect((await set()).body.server_count).toBe(1);
    expect((await opened.ask('GET', '/registry/default/servers')).body.servers[0]?.name).toBe('io.a/good');
  });

  it.each<[string, unknown[][], object]>([
    ['answers something else', [], { tools: [] }],
    ['repeats a page for ever', [], { servers: [], metadata: { nextCursor: 'again' } }],
    ['goes on for ever', [], { servers: [], metadata: { nextCursor: 'COUNT' } }],
  ])('rejects an API that %s', async (_what, pages, answer) => {
    const { set, registry } = await serveApi(...pages);
    let count = 0;
    registry.answer = (_, response) => response.end(JSON.stringify(answer).replace('COUNT', String((count += 1))));
    const { status, body } = await set();
    expect([status, body.code]).toEqual([502, 'upstream_failed']);
    expect(registry.asked.length).toBeLessThanOrEqual(200);
  });

  it('restores a large copy from its parts after a restart', async () => {
    const noise = (at: number) => Array.from({ length: 40 }, (_, i) => Math.sin(at * 97 + i).toString(36)).join('');
    const page = (from: number) =>
      Array.from({ length: 100 }, (_, i) => named(`io.n/s${from + i}`, { ...npm('x'), title: noise(from + i) }));
    const { set, opened, registry } = await serveApi(...Array.from({ length: 30 }, (_, at) => page(at * 100)));
    expect((await set()).body.server_count).toBe(3000);
    await registry.close();
    closing.shift();
    await opened.restart();
    expect((await opened.ask('GET', '/registry')).body.registries[0]?.server_count).toBe(3000);
  });
});
