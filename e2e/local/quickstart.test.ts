import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createMCPClient } from '@ai-sdk/mcp';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIdentityProviders } from '../../examples/quickstart/identity-providers.ts';
import { locateState } from '#local/state-folder';
import { SessionClient } from '../gateway/session-client.ts';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { callTool } from './call-tool.ts';
import { copyExample, movePorts } from './example.ts';
import { makeWorkplace, PROGRAM, ROOT, type Workplace } from './run-vmcp.ts';

const BIN = join(ROOT, 'node_modules', '.bin');
const BROWSE = join(ROOT, 'e2e', 'local', 'browse.ts');
let place: Workplace;
let company: IdentityProvider;
let partner: IdentityProvider;
let endpoint: string;
let tokens: { alice: string; bob: string };

const tokenOf = async (user: string) => (await place.run(['token', user])).stdout.trim();
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
const up = () => place.run(['up', 'manifests', '--detach']);

beforeAll(async () => {
  place = makeWorkplace();
  const ports = await movePorts([4480, 4481, 4482, 4483, 4487, 4488]);
  const origin = `http://127.0.0.1:${ports[4483]}`;
  endpoint = `${origin}/mcp`;
  const provider = (port: number, name: string) =>
    serveIdentityProvider({ port, audiences: ['whoami'], redirectUris: [`${origin}/oauth/callback/${name}`] });
  company = await provider(ports[4480], 'company');
  partner = await provider(ports[4482], 'partner');
  copyExample('quickstart', place, ports);
  mkdirSync(join(place.path, 'manifests', 'files'));
  writeFileSync(join(place.path, 'manifests', 'files', 'welcome.txt'), 'hello');
  const started = await up();
  expect([started.code, started.stderr]).toEqual([0, '']);
  tokens = { alice: await tokenOf('alice'), bob: await tokenOf('bob') };
});
afterAll(async () => {
  await place.close();
  await company.close();
  await partner.close();
});

/**
 * Runs the MCP Inspector's command line, with its files in the workplace. It must not block, as the providers run in
 * this process.
 */
async function inspector(token: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const all = ['--cli', endpoint, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, ...args];
  const env = { ...process.env, HOME: place.path, PATH: `${BIN}:${process.env.PATH ?? ''}` };
  return new Promise((resolve) => {
    execFile(join(BIN, 'mcp-inspector'), all, { env, timeout: 25_000 }, (problem, stdout, stderr) => {
      resolve({ code: problem === null ? 0 : 1, stdout, stderr });
    });
  });
}

/** Connects a client through mcp-remote, like programs that only start processes. */
async function mcpRemote(token: string): Promise<Client> {
  const client = new Client({ name: 'e2e', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: join(BIN, 'mcp-remote'),
      args: [endpoint, '--header', 'Authorization:${BEARER}'],
      env: { PATH: `${BIN}:${process.env.PATH ?? ''}`, HOME: place.path, BEARER: `Bearer ${token}` },
      stderr: 'ignore',
    }),
  );
  return client;
}

/** Returns the identity of the user at each of the three whoami backends. */
async function whoami(token: string) {
  const names = ['calendar_whoami', 'tickets_whoami', 'whoami_whoami'];
  const answers = await Promise.all(names.map((name) => callTool(endpoint, name, token)));
  return answers.map(({ subject, issuer, audience }) => ({ subject, issuer, audience }));
}

const WRITE = { name: 'filesystem_write_file', arguments: { path: 'note.txt', content: 'written' } };

describe('make up', () => {
  it('names the port that another program has', async () => {
    const { port } = new URL(company.issuer);
    const redirectUri = `${endpoint}/callback`;
    const taken = startIdentityProviders(locateState(join(place.path, 'other')), [
      { name: 'company', issuer: company.issuer, redirectUri },
    ]);
    await expect(taken).rejects.toThrow(`port ${port} of the identity provider "company" is in use by another program`);
  });
});

describe('vmcp token', () => {
  it('logs a user in at the endpoint and prints only the token, which is made for the endpoint', () => {
    expect(claimsOf(tokens.alice)).toMatchObject({
      iss: endpoint.replace('/mcp', ''),
      aud: endpoint,
      name: 'Alice Example',
    });
    expect(claimsOf(tokens.bob).sub).not.toBe(claimsOf(tokens.alice).sub);
  });

  it('refreshes that login the next time: the same user, the same session, no page', async () => {
    const before = company.counts.get('all');
    const [first, second] = [claimsOf(tokens.alice), claimsOf(await tokenOf('alice'))];
    expect([second.sub, second.tsid]).toEqual([first.sub, first.tsid]);
    expect(second.jti).not.toBe(first.jti);
    expect(company.counts.get('all')).toBe(before);
  });

  it('knows no other user', async () => {
    expect(await place.run(['token', 'mallory'])).toMatchObject({
      code: 6,
      stdout: '',
      stderr: expect.stringContaining('alice'),
    });
  });
});

/** Returns whether a server answers at the port of a URL on an address beyond loopback. */
function isOpenElsewhere(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.2', port: Number(new URL(url).port), timeout: 2000 });
    const end = (open: boolean) => () => resolve((socket.destroy(), open));
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}

describe('the servers of the quickstart', () => {
  it('listen on this machine only, including server-everything', async () => {
    const { backends } = JSON.parse((await place.run(['status', '-o', 'json'])).stdout) as {
      backends: { name: string; url: string }[];
    };
    const listening = backends.filter(({ url }) => url.startsWith('http'));
    expect(listening.map(({ name }) => name).sort()).toEqual(['calendar', 'everything', 'tickets', 'whoami']);
    for (const { name, url } of [...listening, { name: 'endpoint', url: endpoint }])
      expect([name, await isOpenElsewhere(url)]).toEqual([name, false]);
  });
});

describe('one login at two providers', () => {
  it('gives each backend the user’s own token: of the company, of the partner, and an exchanged one', async () => {
    expect(await whoami(tokens.alice)).toEqual([
      { subject: 'alice', issuer: company.issuer, audience: [company.issuer] },
      { subject: 'alice', issuer: partner.issuer, audience: [partner.issuer] },
      { subject: 'alice', issuer: company.issuer, audience: ['whoami'] },
    ]);
    expect((await whoami(tokens.bob)).map(({ subject }) => subject)).toEqual(['bob', 'bob', 'bob']);
  });

  it('shows the redirect URIs to enter at the providers', async () => {
    const { redirectUris } = await place.status();
    const base = endpoint.replace('/mcp', '/oauth/callback');
    expect(redirectUris).toEqual({ company: `${base}/company`, partner: `${base}/partner` });
    expect((await place.run(['status'])).stdout).toContain(`partner   ${base}/partner`);
  });
});

describe('@ai-sdk/mcp with its defaults', () => {
  it('connects to the quickstart and lists the tools of every backend', async () => {
    const headers = { Authorization: `Bearer ${tokens.alice}` };
    const client = await createMCPClient({ transport: { type: 'http', url: endpoint, headers } });
    const names = Object.keys(await client.tools()).map((name) => name.split('_')[0]);
    await client.close();
    expect(names).toEqual(expect.arrayContaining(['everything', 'memory', 'filesystem', 'whoami', 'calendar']));
  });
});

describe('a host of apps', () => {
  it('gets the page of the clock with its tool, and calls the tool by its own name', async () => {
    const bearer = { authorization: `Bearer ${tokens.alice}` };
    const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
    const host = await SessionClient.open(endpoint, bearer, { extensions });
    const { tools } = (await host.request('tools/list')).answer.result as { tools: { name: string; _meta?: object }[] };
    const uri = 'ui://clock/view.html';
    expect(tools.find(({ name }) => name === 'clock_now')).toMatchObject({ _meta: { ui: { resourceUri: uri } } });
    expect((await host.request('resources/read', { uri })).text).toContain('<title>Clock</title>');
    expect((await host.call('now')).answer.result).toMatchObject({ content: [{ text: expect.stringMatching(/^2/) }] });
  });
});

describe('vmcp try', () => {
  it('opens the login in a browser, lists the tools, and shows the user’s identity at each backend', async () => {
    const { code, stdout, stderr } = await place.run(['try'], { BROWSER: `${process.execPath} ${BROWSE} bob %s` });
    expect([code, stderr]).toEqual([0, expect.stringContaining('/oauth/authorize?')]);
    expect(stdout).toContain(`You are logged in at ${endpoint}.`);
    expect(stdout).toMatch(/everything_echo +Echoes/);
    expect(stdout).toMatch(new RegExp(`calendar_whoami +bob +${company.issuer} `));
    expect(stdout).toMatch(new RegExp(`tickets_whoami +bob +${partner.issuer} `));
    expect(stdout).toMatch(/whoami_whoami +bob .* whoami\n/);
  });

  it('prints the same for programs', async () => {
    const browser = { BROWSER: `${process.execPath} ${BROWSE} alice %s` };
    const { stdout } = await place.run(['try', endpoint, '-o', 'json'], browser);
    expect(JSON.parse(stdout)).toMatchObject({
      loggedIn: true,
      tools: expect.arrayContaining([expect.objectContaining({ name: 'memory_read_graph' })]),
      whoami: expect.arrayContaining([
        { tool: 'tickets_whoami', user: 'alice', issuer: partner.issuer, audience: [partner.issuer] },
      ]),
    });
  });

  it('prints the URL without a browser, and stops waiting at its limit', async () => {
    const quick = ['try', '--timeout', '500ms'];
    const without = await place.run([...quick, '--no-browser']);
    expect([without.code, without.stdout]).toEqual([5, '']);
    expect(without.stderr).toMatch(/\/oauth\/authorize\?.*\nvmcp: the login did not complete/s);
    const broken = await place.run(quick, { BROWSER: '/nonexistent' });
    expect(broken.stderr).toContain('open it yourself');
  });

  it('names the problem of an endpoint that is missing, or is none', async () => {
    expect(await place.run(['try', 'nonsense'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is no URL'),
    });
    expect(await place.run(['try', company.issuer])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`node ${PROGRAM} doctor ${company.issuer}`),
    });
  });
});

describe('vmcp doctor', () => {
  it('finds no obstacle for a client, registers clients only on request, and checks behind the login with a token', async () => {
    writeFileSync(join(place.path, 'token'), tokens.alice, { mode: 0o600 });
    const { code, stdout } = await place.run(['doctor', '--token-file', 'token', '--register', '-o', 'json']);
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: { check: string; verdict: string }[] };
    expect(checks.filter(({ verdict }) => verdict === 'failed' || verdict === 'warning')).toEqual([]);
    expect([code, ok, checks.length > 25]).toEqual([0, true, true]);
    expect(stdout).toContain('clients get it (from clock)');
  });

  it('explains an obstacle, and exits with 1', async () => {
    const { code, stdout } = await place.run(['doctor', endpoint.replace('127.0.0.1', 'localhost')]);
    expect(stdout).toMatch(/FAILED +resource is the URL .* 127\.0\.0\.1 and localhost are two hosts/);
    expect(stdout).toContain('What to do:');
    expect(code).toBe(1);
  });
});

describe('vmcp connect', () => {
  it('writes the running endpoint into the configuration of a client', async () => {
    const home = { HOME: place.path };
    expect(await place.run(['connect', 'cursor', '--write'], home)).toMatchObject({ code: 0 });
    expect(JSON.parse(place.read('.cursor/mcp.json'))).toEqual({
      mcpServers: { quickstart: { type: 'http', url: endpoint } },
    });
    expect((await place.run(['connect'], home)).stdout).toMatch(/cursor +Cursor +connected/);
  });
});

describe('the MCP Inspector’s command line', () => {
  it('lists the tools of all seven backends for alice', async () => {
    const { stdout, stderr } = await inspector(tokens.alice, '--method', 'tools/list');
    expect(stderr).toBe('');
    const names = (JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'everything_echo',
        'memory_read_graph',
        'filesystem_write_file',
        'whoami_whoami',
        'calendar_whoami',
        'tickets_whoami',
      ]),
    );
    const { backends } = await place.statusThat((status) => status.backends.every(({ tools }) => tools !== null));
    expect(backends.map(({ phase }) => phase)).toEqual(Array(7).fill('Ready'));
  });

  it('shows that whoami receives a separate token, exchanged for that of alice', async () => {
    const { stdout } = await inspector(tokens.alice, '--method', 'tools/call', '--tool-name', 'whoami_whoami');
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { subject: 'alice', audience: ['whoami'] } });
  });

  it('gets a refusal without a token', async () => {
    const { code, stdout, stderr } = await inspector('nonsense', '--method', 'tools/list');
    expect(code).not.toBe(0);
    expect(stdout + stderr).toMatch(/401|auth/i);
  });
});

describe('mcp-remote', () => {
  it('lets alice write a file', async () => {
    const client = await mcpRemote(tokens.alice);
    try {
      const { isError } = await client.callTool(WRITE);
      expect(isError ?? false).toBe(false);
      expect(readFileSync(join(place.path, 'manifests/files/note.txt'), 'utf8')).toBe('written');
    } finally {
      await client.close();
    }
  });

  it('denies it to bob, with the advice of the policy, and hides the tools that he may never call', async () => {
    const client = await mcpRemote(tokens.bob);
    try {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toContain('filesystem_write_file');
      expect(names).not.toContain('filesystem_move_file');
      await expect(client.callTool({ ...WRITE, arguments: { path: 'bob.txt', content: 'x' } })).rejects.toMatchObject({
        code: 403,
        data: { policy: { id: 'only-writers-write-files', advice: expect.stringContaining('alice') } },
      });
      expect(readdirSync(join(place.path, 'manifests/files'))).not.toContain('bob.txt');
      const read = await client.callTool({ name: 'filesystem_read_text_file', arguments: { path: 'welcome.txt' } });
      expect(JSON.stringify(read)).toContain('hello');
    } finally {
      await client.close();
    }
  });
});

describe('a restart of all processes of vmcp', () => {
  it('keeps all logins: old tokens are valid, refreshes work, and backends get the tokens of their users', async () => {
    const before = claimsOf(tokens.alice);
    expect((await place.run(['down'])).code).toBe(0);
    expect((await up()).code).toBe(0);
    expect((await whoami(tokens.alice)).map(({ subject }) => subject)).toEqual(['alice', 'alice', 'alice']);
    const after = claimsOf(await tokenOf('alice'));
    expect([after.sub, after.tsid]).toEqual([before.sub, before.tsid]);
  });
});

it('logs, statuses and argument lists contain no secret value and no token', async () => {
  const kept = join('.vmcp/logins/default/quickstart');
  const made = ['signing-key.pem', 'hmac-secret'].map((file) => place.read(join(kept, file)).split('\n').at(1) ?? '');
  const hmac = place.read(join(kept, 'hmac-secret'));
  const secrets = ['not-a-real-key', 'vmcp-loopback-secret', tokens.alice, tokens.bob, hmac, ...made.filter(Boolean)];
  const logs = readdirSync(join(place.path, '.vmcp/logs')).map((name) => place.read(join('.vmcp/logs', name)));
  const { processes } = await place.status();
  const lines = processes.map(({ identity }) => readFileSync(`/proc/${identity!.pid}/cmdline`, 'utf8'));
  const seen = [...logs, place.read('.vmcp/status.json'), ...lines].join('\n');
  for (const value of secrets) expect(seen).not.toContain(value);
});
