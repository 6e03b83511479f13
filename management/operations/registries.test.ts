import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Registry, RegistryInfo } from '../records/registry.ts';
import { openRegistries, type OpenRegistries } from '../registries/testdata/open-registries.ts';
import { TOKEN } from '../testdata/serve-operations.ts';
import { answerJson, FILE, type RegistryServer, serveRegistry } from '../registries/testdata/serve-registry.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function open(more?: Parameters<typeof openRegistries>[0]): Promise<OpenRegistries> {
  const opened = await openRegistries(more);
  closing.push(() => opened.close());
  return opened;
}

async function serve(...[answer]: Parameters<typeof serveRegistry>): Promise<RegistryServer> {
  const served = await serveRegistry(answer);
  closing.push(() => served.close());
  return served;
}

const MINUTE = 60_000;
const names = (list: { name?: string | undefined }[]) => list.map(({ name = '' }) => name);

describe('the built-in registry', () => {
  it('offers at least twenty real servers with their requirements by default', async () => {
    const { ask } = await open();
    const { status, body } = await ask('GET', '/registry');
    expect(status).toBe(200);
    const [info] = body.registries.map((one) => RegistryInfo.parse(one));
    expect(info).toMatchObject({ name: 'default', type: 'default', source: '', auth_type: '', auth_status: 'none' });
    expect(info?.server_count).toBeGreaterThanOrEqual(20);
    const { body: github } = await ask('GET', '/registry/default/servers/github');
    expect(github).toMatchObject({
      is_remote: false,
      server: { name: 'github', image: 'ghcr.io/github/github-mcp-server', transport: 'stdio' },
    });
    expect(github.server.env_vars?.[0]).toMatchObject({ name: 'GITHUB_PERSONAL_ACCESS_TOKEN', secret: true });
  });

  it('supports pages and search words', async () => {
    const { ask } = await open();
    const { body: whole } = await ask('GET', '/registry/default/servers');
    const seen: string[] = [];
    for (let cursor: string | undefined; ;) {
      const query = new URLSearchParams({ limit: '7', ...(cursor !== undefined && { cursor }) });
      const { body } = await ask('GET', `/registry/default/servers?${query.toString()}`);
      expect(body.servers.length + body.remote_servers.length).toBeLessThanOrEqual(7);
      seen.push(...names(body.servers), ...names(body.remote_servers));
      cursor = body.next_cursor;
      if (cursor === undefined) break;
    }
    expect(seen.sort()).toEqual([...names(whole.servers), ...names(whole.remote_servers)].sort());
    const { body: found } = await ask('GET', '/registry/default/servers?search=database%20SQL');
    expect(names(found.servers)).toEqual(['postgres']);
    expect(names(found.remote_servers)).toEqual(['neon']);
  });

  it.each([
    ['GET', '/registry/other'],
    ['GET', '/registry/other/servers'],
    ['GET', '/registry/cluster'],
    ['GET', '/registry/default/servers/nothing'],
    ['GET', '/registry/default/servers/__proto__'],
    ['GET', '/registry/default/servers/constructor'],
    ['GET', `/registry/${encodeURIComponent('../default')}`],
  ])('answers 404 to %s %s', async (method, path) => {
    const { ask } = await open();
    const { status, body } = await ask(method, path);
    expect([status, body.code]).toEqual([404, 'not_found']);
  });
});

describe('the default registry from a URL', () => {
  it('returns all fields of the file until it is reset', async () => {
    const file = await serve(answerJson(FILE, '"one"'));
    const { ask } = await open();
    const url = `${file.url}/registry.json`;
    const put = await ask('PUT', '/registry/default', { url, allow_private_ip: true });
    expect(put.status).toBe(200);
    expect(put.body).toEqual({
      ...{ name: 'default', type: 'url', source: url, version: '1.2.3', server_count: 4 },
      ...{ last_updated: '2026-01-02T03:04:05Z', auth_type: '', auth_status: 'none' },
    });
    const got = await ask('GET', '/registry/default');
    expect(Registry.parse(got.body)).toEqual(got.body);
    const { servers, remote_servers, groups } = got.body.registry;
    expect(servers).toEqual({ weather: { ...FILE.servers.weather, status: 'active' } });
    expect([remote_servers, groups]).toEqual([FILE.remote_servers, FILE.groups]);
    const list = await ask('GET', '/registry/default/servers');
    expect([names(list.body.servers), names(list.body.remote_servers)]).toEqual([
      ['stars', 'weather'],
      ['moon', 'tides'],
    ]);
    const moon = await ask('GET', '/registry/default/servers/moon');
    expect(moon.body).toEqual({
      is_remote: true,
      remote_server: { ...FILE.groups[0]!.remote_servers.moon, name: 'moon' },
    });
    const back = await ask('PUT', '/registry/default', {});
    expect(back.body).toMatchObject({ type: 'default', source: '' });
    expect((await ask('GET', '/registry/default/servers/moon')).status).toBe(404);
  });

  it('revalidates its copy by the entity tag, only after it expires', async () => {
    const file = await serve(answerJson(FILE, '"one"'));
    const { ask, clock } = await open();
    await ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
    clock.now += 4 * MINUTE;
    await ask('GET', '/registry/default');
    expect(file.asked).toHaveLength(1);
    clock.now += 2 * MINUTE;
    await ask('GET', '/registry/default');
    expect(file.asked[1]?.headers['if-none-match']).toBe('"one"');
    file.answer = answerJson({ ...FILE, version: '2' }, '"two"');
    clock.now += 6 * MINUTE;
    expect((await ask('GET', '/registry/default')).body.version).toBe('2');
    expect(file.asked).toHaveLength(3);
  });

  it('serializes its content once, answers 304 if it is unchanged, and changes its tag with it', async () => {
    const file = await serve(answerJson(FILE, '"one"'));
    const { ask, clock, served } = await open();
    const put = await ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
    const read = async (known?: string) => {
      const headers = { authorization: `Bearer ${TOKEN}`, ...(known !== undefined && { 'if-none-match': known }) };
      const answer = await fetch(`${served.url}/registry/default`, { headers });
      return { status: answer.status, tag: answer.headers.get('etag')!, text: await answer.text() };
    };
    const first = await read();
    expect(Registry.parse(JSON.parse(first.text)).version).toBe('1.2.3');
    const stringify = jest.spyOn(JSON, 'stringify');
    try {
      // A revalidation with 304 must not serialize it again either.
      clock.now += 6 * MINUTE;
      file.answer = (_, response) => response.writeHead(304).end();
      expect(await read()).toEqual(first);
      expect(await read(`"other", W/${first.tag}`)).toEqual({ status: 304, tag: first.tag, text: '' });
      const written = stringify.mock.calls.map((call): unknown => call[0]);
      const whole = written.filter((value) => typeof value === 'object' && value !== null && 'registry' in value);
      expect(whole).toEqual([]);
    } finally {
      stringify.mockRestore();
    }
    expect(file.asked).toHaveLength(2);
    file.answer = answerJson({ ...FILE, version: '2' }, '"two"');
    clock.now += 6 * MINUTE;
    const second = await read(first.tag);
    expect([second.status, second.tag === first.tag, JSON.parse(second.text)]).toEqual([
      200,
      false,
      expect.objectContaining({ version: '2' }),
    ]);
    // The tag of the settings differs from the tags of the content; If-Match accepts either.
    expect([first.tag, second.tag]).not.toContain(put.headers.get('etag'));
    expect((await ask('PUT', '/registry/default', {}, { 'if-match': first.tag })).status).toBe(200);
    expect(await read(second.tag)).toMatchObject({ status: 200 });
  });

  it('serves the last copy while its source fails, also after a restart', async () => {
    const file = await serve(answerJson(FILE, '"one"'));
    const opened = await open();
    await opened.ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
    file.answer = (_, response) => response.writeHead(500).end('no');
    opened.clock.now += 6 * MINUTE;
    expect((await opened.ask('GET', '/registry/default')).body.version).toBe('1.2.3');
    expect(opened.problems).toEqual([expect.stringContaining('answered 500; what was read last is served')]);
    // A failed source is not retried for a while.
    await opened.ask('GET', '/registry/default');
    expect(file.asked).toHaveLength(2);
    await opened.restart();
    expect((await opened.ask('GET', '/registry/default/servers/weather')).body.server.title).toBe('Weather');
    await file.close();
    await opened.restart();
    expect((await opened.ask('GET', '/registry')).body.registries[0]?.server_count).toBe(4);
  });

  it('lists no servers and answers 503 if it is unreadable and has no copy', async () => {
    const file = await serve(answerJson(FILE));
    const opened = await open();
    await opened.ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
    rmSync(join(opened.folder, 'records/default/registrycopies'), { recursive: true });
    file.answer = (_, response) => response.writeHead(404).end();
    await opened.restart();
    expect((await opened.ask('GET', '/registry')).body.registries[0]).toMatchObject({ server_count: 0, type: 'url' });
    const { status, body } = await opened.ask('GET', '/registry/default');
    expect([status, body.code]).toEqual([503, 'unavailable']);
  });

  it('keeps only one copy', async () => {
    const file = await serve(answerJson(FILE));
    const { ask, clock, folder } = await open();
    for (let version = 0; version < 3; version += 1) {
      file.answer = answerJson({ ...FILE, version: String(version) });
      await ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
      clock.now += 10 * MINUTE;
    }
    const kept = readdirSync(join(folder, 'records/default/registrycopies')).filter((name) => name.endsWith('.json'));
    expect(kept).toHaveLength(2);
  });

  it('reports damaged settings', async () => {
    const { ask, folder } = await open();
    await ask('PUT', '/registry/default', {});
    writeFileSync(
      join(folder, 'records/default/registries/default.json'),
      '{"name":"default","version":"a","value":7}',
    );
    const { status, body } = await ask('GET', '/registry/default');
    expect([status, body.code]).toEqual([500, 'store_damaged']);
  });
});

describe('updateRegistry', () => {
  it.each<[string, unknown, string]>([
    ['two sources', { url: 'https://a.example', api_url: 'https://a.example' }, 'exclude each other'],
    ['no URL', { url: 'file:///etc/passwd' }, 'not an absolute http or https URL'],
    ['what looks like a URL', { url: 'https://[' }, 'not a URL'],
    [
      'an issuer that looks like a URL',
      { url: 'https://a.example', auth: { issuer: 'https://[', client_id: 'a' } },
      'not a URL',
    ],
    ['a URL with a password', { url: 'https://a:b@a.example' }, 'without user name and password'],
    ['plain http', { url: 'http://a.example/registry.json' }, 'plain http'],
    [
      'plain http to a public address, private ones allowed',
      { url: 'http://8.8.8.8/r', allow_private_ip: true },
      'plain http',
    ],
    ['a private address', { url: 'https://127.0.0.1/registry.json' }, 'set allow_private_ip to allow it'],
    ['the address of metadata', { url: 'https://169.254.169.254/latest' }, 'set allow_private_ip to allow it'],
    ['a mapped address', { url: 'https://[::ffff:10.0.0.1]/r' }, 'set allow_private_ip to allow it'],
    ['a name of this machine', { url: 'https://localhost/r' }, 'set allow_private_ip to allow it'],
    ['a relative path', { local_path: 'registry.json' }, 'not an absolute path'],
    ['a path that is not there', { local_path: '/nowhere/registry.json' }, 'cannot be read (ENOENT)'],
    ['a folder', { local_path: '/' }, 'is no file'],
    ['a device', { local_path: '/dev/zero' }, 'is no file'],
    ['a login without a source', { auth: { issuer: 'https://a.example', client_id: 'a' } }, 'for url and api_url only'],
    [
      'a secret itself',
      { url: 'https://a.example', auth: { issuer: 'https://a.example', client_id: 'a', client_secret_ref: 'hunter2' } },
      'never the secret itself',
    ],
    ['an unknown field', { uri: 'https://a.example' }, 'unknown field'],
  ])('rejects %s', async (_what, sent, said) => {
    const { ask } = await open();
    const { status, body } = await ask('PUT', '/registry/default', sent);
    expect([status, body.code]).toEqual([400, 'bad_request']);
    expect(body.detail).toContain(said);
    expect((await ask('GET', '/registry')).body.registries[0]?.type).toBe('default');
  });

  it('rejects every name except default', async () => {
    const { ask } = await open();
    const { status, body } = await ask('PUT', '/registry/other', {});
    expect([status, body.code]).toEqual([404, 'not_found']);
  });

  it.each<[string, Parameters<typeof serveRegistry>[0]]>([
    ['an error', (_, response) => response.writeHead(500).end()],
    ['no JSON', (_, response) => response.end('<html>')],
    ['JSON of something else', answerJson({ status: 'ok' })],
    ['JSON that is no registry', answerJson({ servers: { a: { title: 'without an image' } } })],
    [
      'a redirect to a host that may not be called',
      (_, response) => response.writeHead(302, { location: 'http://8.8.8.8/' }).end(),
    ],
    ['redirects without end', (_, response) => response.writeHead(302, { location: '/again' }).end()],
    [
      'half an answer',
      (_, response) => response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
    ],
    ['more objects than it may', answerJson({ servers: {}, groups: [], x: new Array(100_000).fill({}) })],
    ['more values than it may', answerJson({ servers: {}, groups: [], x: new Array(500_000).fill(0) })],
    ['more than it may', (_, response) => response.writeHead(200, { 'content-length': '999999999' }).end('{}')],
  ])('answers 502 to %s and changes nothing', async (_what, answer) => {
    const file = await serve(answer);
    const { ask } = await open({ readDeadline: 3000 });
    const { status, body } = await ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
    expect([status, body.code]).toEqual([502, 'upstream_failed']);
    expect((await ask('GET', '/registry')).body.registries[0]?.type).toBe('default');
  });

  it('answers 502 if no server listens', async () => {
    const { ask } = await open();
    const { status, body } = await ask('PUT', '/registry/default', {
      url: 'http://127.0.0.1:1/r',
      allow_private_ip: true,
    });
    expect([status, body.code]).toEqual([502, 'upstream_failed']);
  });

  it.each<[string, Parameters<typeof serveRegistry>[0], number]>([
    ['begins no answer', () => undefined, 504],
    ['never ends one', (_, response) => void response.writeHead(200).write('{'), 504],
    ['never ends a refusal', (_, response) => void response.writeHead(500).write('{'), 502],
  ])(
    'gives up within 10 s on a host that %s',
    async (_what, answer, expected) => {
      const file = await serve(answer);
      const { ask } = await open();
      const startedAt = performance.now();
      const { status } = await ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
      expect(status).toBe(expected);
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    },
    30_000,
  );

  it.each<[string, Parameters<typeof serveRegistry>[0]]>([
    ['begins no answer', () => undefined],
    ['never ends one', (_, response) => void response.writeHead(200).write('{')],
  ])('answers 504 to a source that %s', async (_what, answer) => {
    const file = await serve(answer);
    const { ask } = await open({ readDeadline: 300 });
    const { status, body } = await ask('PUT', '/registry/default', { url: `${file.url}/r`, allow_private_ip: true });
    expect([status, body.code]).toEqual([504, 'upstream_timeout']);
  });

  it('answers 412 if the registry has been updated since it was read', async () => {
    const { ask } = await open();
    const { headers } = await ask('GET', '/registry/default');
    const tag = headers.get('etag')!;
    expect((await ask('PUT', '/registry/default', {}, { 'if-match': tag })).status).toBe(200);
    const { status, body } = await ask('PUT', '/registry/default', {}, { 'if-match': tag });
    expect([status, body.code]).toEqual([412, 'stale']);
  });

  it('writes one audit event', async () => {
    const { ask, served } = await open();
    await ask('PUT', '/registry/default', {});
    expect(served.changes).toMatchObject([{ type: 'management_registry_updated', outcome: 'success' }]);
  });
});

it.each([
  ['of this machine is told of its first five faults', false, 5],
  ['of somebody else is told of its first fault', true, 1],
])('limits the reported faults: a registry file %s', async (_what, isAway, most) => {
  const { ask, folder } = await open();
  const names = Array.from({ length: 100 }, (_, nr) => `s${nr}`);
  const text = JSON.stringify({ servers: Object.fromEntries(names.map((name) => [name, { image: 1 }])) });
  const path = join(folder, 'registry.json');
  writeFileSync(path, text);
  const { url } = await serve((_request, response) => response.end(text));
  const sent = isAway ? { url: `${url}/registry.json`, allow_private_ip: true } : { local_path: path };
  const { body } = await ask('PUT', '/registry/default', sent);
  const told = names.slice(0, most).map((name) => `servers.${name}.image`);
  expect(body.detail.match(/servers\.s\d+\.image/g)).toEqual(told);
});

describe('the default registry from a local file', () => {
  it('reads a changed file again, and serves its last content while the file is broken', async () => {
    const { ask, folder, clock, problems } = await open();
    const path = join(folder, 'registry.json');
    writeFileSync(path, JSON.stringify(FILE));
    const put = await ask('PUT', '/registry/default', { local_path: path });
    expect(put.body).toMatchObject({ type: 'file', source: path, server_count: 4 });
    writeFileSync(path, JSON.stringify({ ...FILE, version: '3' }));
    clock.now += 6 * MINUTE;
    expect((await ask('GET', '/registry/default')).body.version).toBe('3');
    writeFileSync(path, '{"servers": {"a": {"image": 5}}}');
    clock.now += 6 * MINUTE;
    expect((await ask('GET', '/registry/default')).body.version).toBe('3');
    expect(problems).toEqual([expect.stringContaining('servers.a.image')]);
  });

  it.each([
    ['what is no JSON', 'hunter2 ssh-rsa', 'is no JSON'],
    ['what is nearly JSON', '{"a": hunter2}', 'is no JSON'],
    ['more objects than it may', `[${'{},'.repeat(100_001)}{}]`, 'more than 100000 objects'],
    ['more values than it may', `[${'0,'.repeat(500_001)}0]`, 'more than 500000 values'],
  ])('rejects %s without repeating its text', async (_what, text, said) => {
    const { ask, folder } = await open();
    const path = join(folder, 'registry.json');
    writeFileSync(path, text);
    const { status, body } = await ask('PUT', '/registry/default', { local_path: path });
    expect([status, body.detail]).toEqual([400, expect.stringContaining(said)]);
    expect(body.detail).not.toMatch(/hunter|ssh/);
  });

  it('reports file, field and remedy of an error', async () => {
    const { ask, folder } = await open();
    mkdirSync(join(folder, 'r'));
    const path = join(folder, 'r/registry.json');
    for (const [text, said] of [
      ['{"servers": {"a": {"image": 5}}}', `${path} servers.a.image: `],
      ['{"server": {}}', `${path} has none of servers, remote_servers, groups: `],
      ['{', `${path} is no JSON`],
    ] as const) {
      writeFileSync(path, text);
      const { status, body } = await ask('PUT', '/registry/default', { local_path: path });
      expect(status).toBe(400);
      expect(body.detail).toContain(said);
    }
    expect(readFileSync(path, 'utf8')).toBe('{');
  });
});
