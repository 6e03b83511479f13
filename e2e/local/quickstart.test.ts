import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { findFreePort } from '../gateway/start-gateway.ts';
import { eventually, makeWorkplace, ROOT, type Workplace } from './run-vmcp.ts';

// The quickstart as it is, but for its ports and the place of its files: so the test may run beside a real one.
const EXAMPLE = join(ROOT, 'examples', 'quickstart');
const BIN = join(ROOT, 'node_modules', '.bin');
let place: Workplace;
let provider: IdentityProvider;
let endpoint: string;
let tokens: { alice: string; bob: string };

beforeAll(async () => {
  place = makeWorkplace();
  provider = await serveIdentityProvider({ audiences: ['whoami'] });
  const [port, whoamiPort] = [await findFreePort(), await findFreePort()];
  endpoint = `http://127.0.0.1:${port}/mcp`;
  for (const name of readdirSync(EXAMPLE).filter((file) => file.endsWith('.yaml'))) {
    const text = readFileSync(join(EXAMPLE, name), 'utf8')
      .replaceAll('4483', String(port))
      .replaceAll('4481', String(whoamiPort))
      .replaceAll('4480', String(provider.port))
      .replaceAll('../../../../.vmcp', join(place.path, '.vmcp'))
      .replaceAll('../../', `${ROOT}/`);
    place.manifest(name, text);
  }
  mkdirSync(join(place.path, 'manifests', 'files'));
  writeFileSync(join(place.path, 'manifests', 'files', 'welcome.txt'), 'hello');
  const started = await place.run(['up', 'manifests', '--detach']);
  expect([started.code, started.stderr]).toEqual([0, '']);
  const token = async (user: string) => (await place.run(['token', user])).stdout.trim();
  tokens = { alice: await token('alice'), bob: await token('bob') };
}, 90_000);
afterAll(async () => {
  await place.close();
  await provider.close();
});

/** Runs the MCP Inspector's command line, its own files in the workplace. Not blocking: the provider runs in this process. */
async function inspector(token: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const all = ['--cli', endpoint, '--transport', 'http', '--header', `Authorization: Bearer ${token}`, ...args];
  const env = { ...process.env, HOME: place.path, PATH: `${BIN}:${process.env.PATH ?? ''}` };
  return new Promise((resolve) => {
    execFile(join(BIN, 'mcp-inspector'), all, { env, timeout: 25_000 }, (problem, stdout, stderr) => {
      resolve({ code: problem === null ? 0 : 1, stdout, stderr });
    });
  });
}

/** A client whose other end is mcp-remote, as programs use it that speak only to processes. */
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

const WRITE = { name: 'filesystem_write_file', arguments: { path: 'note.txt', content: 'written' } };

describe('vmcp token', () => {
  it('prints the token of a user alone, made for the endpoint', () => {
    const claims = JSON.parse(Buffer.from(tokens.alice.split('.')[1]!, 'base64url').toString()) as Record<
      string,
      unknown
    >;
    expect(claims).toMatchObject({ sub: 'alice', aud: endpoint, groups: ['engineering', 'writers'] });
  });

  it('knows no other user', async () => {
    expect(await place.run(['token', 'mallory'])).toMatchObject({
      code: 5,
      stdout: '',
      stderr: expect.stringContaining('alice'),
    });
  });
});

describe("the MCP Inspector's command line", () => {
  it('lists the tools of all four backends for alice', async () => {
    const { stdout, stderr } = await inspector(tokens.alice, '--method', 'tools/list');
    expect(stderr).toBe('');
    const names = (JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['everything_echo', 'memory_read_graph', 'filesystem_write_file', 'whoami_whoami']),
    );
    const { backends } = await eventually(
      () => place.status(),
      (status) => status.backends.every(({ tools }) => tools !== null),
    );
    expect(backends.map(({ phase }) => phase)).toEqual(Array(4).fill('Ready'));
  });

  it('shows that whoami got a token of its own, exchanged for that of alice', async () => {
    const { stdout } = await inspector(tokens.alice, '--method', 'tools/call', '--tool-name', 'whoami_whoami');
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { subject: 'alice', audience: ['whoami'] } });
  });

  it('is refused without a token', async () => {
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

  it('denies it to bob, with the advice of the policy, and hides what he may never call', async () => {
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

it('what the memory server is told stays in the folder of the state', async () => {
  const client = await mcpRemote(tokens.alice);
  try {
    const entities = [{ name: 'vmcp', entityType: 'gateway', observations: ['has two boundaries'] }];
    await client.callTool({ name: 'memory_create_entities', arguments: { entities } });
    expect(place.read('.vmcp/memory.jsonl')).toContain('has two boundaries');
  } finally {
    await client.close();
  }
});

it('no secret value and no token is in a log, a status or an argument list', async () => {
  const secrets = ['not-a-real-key', 'vmcp-loopback-secret', tokens.alice, tokens.bob];
  const logs = readdirSync(join(place.path, '.vmcp/logs')).map((name) => place.read(join('.vmcp/logs', name)));
  const { processes } = await place.status();
  const lines = processes.map(({ identity }) => readFileSync(`/proc/${identity!.pid}/cmdline`, 'utf8'));
  const seen = [...logs, place.read('.vmcp/status.json'), ...lines].join('\n');
  for (const value of secrets) expect(seen).not.toContain(value);
});
