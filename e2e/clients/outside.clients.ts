// `make test-clients` installs the clients and runs this file.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import { accountAt, type ProviderSpec } from '../authserver/providers.ts';
import { signOutEverywhere } from '../authserver/sign-out-everywhere.ts';
import type { Caller } from '../fakes/whoami/describe-caller.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { startSdkServer } from '../sdk-servers/start-sdk-server.ts';
import { npmProgram, openDesk, type Desk } from './desk.ts';
import { OUTSIDE_FOLDER, PYTHON } from './outside-versions.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
/** Lifespan of an access token, in seconds: longer than a program takes to start. */
const LIFESPAN = 10;

afterEach(closeAll);

interface Opened {
  readonly setup: Arrangement;
  readonly desk: Desk;
}

async function run({ desk }: Opened, command: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await desk.run(command);
  if (code !== 0) throw new Error(`it ended with ${code}: ${stderr} ${stdout}`);
  return stdout;
}

const accountOf = ({ setup }: Opened, json: string) => accountAt(setup.providers.okta!, JSON.parse(json) as Caller);

/** Each client uses its login or gets a new one, and returns the caller's account. Codex and Claude Code only list the tools. */
const clients: Readonly<Record<string, (opened: Opened) => Promise<string | undefined>>> = {
  async mcporter(opened) {
    const about = ['--http-url', opened.setup.resource, '--allow-http', '--tool', 'okta_whoami', '--output', 'json'];
    return accountOf(opened, await run(opened, [...npmProgram('mcporter', OUTSIDE_FOLDER), 'call', ...about]));
  },

  async fastmcp(opened) {
    const folder = join(opened.desk.home, 'fastmcp');
    await mkdir(folder, { recursive: true });
    const script = join(import.meta.dirname, 'fastmcp-call.py');
    const output = await run(opened, [PYTHON, script, opened.setup.resource, 'okta_whoami', folder]);
    return accountOf(opened, output.trim().split('\n').at(-1) ?? '');
  },

  async Codex({ setup, desk }) {
    const codex = npmProgram('codex', OUTSIDE_FOLDER);
    const { stdout } = await desk.run([...codex, 'mcp', 'list', '--json']);
    // `mcp add` includes a login.
    if (!stdout.includes(setup.resource)) await desk.run([...codex, 'mcp', 'add', 'vmcp', '--url', setup.resource]);
    if (!(await toolsOf(desk, codex)).includes('okta_whoami')) await desk.run([...codex, 'mcp', 'login', 'vmcp']);
    return (await toolsOf(desk, codex)).includes('okta_whoami') ? 'alice' : undefined;
  },

  async 'Claude Code'({ setup, desk }) {
    const { stdout } = await desk.run([...CLAUDE, 'mcp', 'list'], CLAUDE_ENV);
    if (!stdout.includes(setup.resource)) await addToClaude(desk, setup.resource);
    if (!(await startClaude(desk)).includes(CONNECTED)) await logInWithClaude(desk);
    const conversation = await startClaude(desk);
    return conversation.includes(CONNECTED) && conversation.includes('mcp__vmcp__okta_whoami') ? 'alice' : undefined;
  },
};

const CLAUDE = [join(OUTSIDE_FOLDER, 'node_modules', '.bin', 'claude')];
/** Claude Code connects to MCP servers before it asks for a model. No test has a model. */
const CLAUDE_ENV = {
  ANTHROPIC_API_KEY: 'not-a-key',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  CLAUDE_CODE_MAX_RETRIES: '0',
  DISABLE_AUTOUPDATER: '1',
};
const CONNECTED = '{"name":"vmcp","status":"connected"}';

const addToClaude = (desk: Desk, url: string) =>
  desk.run([...CLAUDE, 'mcp', 'add', '--transport', 'http', '--scope', 'user', 'vmcp', url], CLAUDE_ENV);

/** Logs in on a terminal, because Claude Code needs one. */
const logInWithClaude = (desk: Desk) =>
  desk.run(['script', '-qec', `${CLAUDE.join(' ')} mcp login vmcp`, '/dev/null'], CLAUDE_ENV);

/** Begins a conversation. Returns its events; the first one names the servers and the tools. */
async function startClaude(desk: Desk): Promise<string> {
  const prompt = ['-p', 'hello', '--output-format', 'stream-json', '--verbose'];
  return (await desk.run([...CLAUDE, ...prompt], CLAUDE_ENV)).stdout;
}

/** Returns the tools that Codex lists with its current login. */
async function toolsOf(desk: Desk, codex: readonly string[]): Promise<string> {
  const server = desk.start([...codex, 'app-server']);
  try {
    const clientInfo = { name: 'desk', title: 'desk', version: '1' };
    await server.request('initialize', { clientInfo });
    server.notify('initialized');
    return JSON.stringify((await server.request('mcpServerStatus/list', {})).result);
  } finally {
    await server.stop();
  }
}

describe('fastmcp in front of a group of backends with different revisions', () => {
  it('lists and calls the tools of all backends', async () => {
    const [older, both] = [await startSdkServer('old'), await startSdkServer('new')];
    const newer = await startSdkServer('new', { modernOnly: true });
    closing({ close: () => Promise.all([older.stop(), both.stop(), newer.stop()]) });
    const { url } = await gatewayTo({ older: older.url, both: both.url, newer: newer.url });
    const opened = closing(await openDesk('alice'));
    const echo = async () => {
      const { stdout } = await opened.run([PYTHON, join(import.meta.dirname, 'fastmcp-echo.py'), url]);
      return JSON.parse(stdout) as Record<string, string>;
    };
    await until('all backends listed', async () => Object.keys(await echo()).length === 3);
    expect(await echo()).toEqual({ older_echo: 'older_echo', both_echo: 'both_echo', newer_echo: 'newer_echo' });
  }, 120_000);
});

describe('Codex whose session was revoked', () => {
  it('says that the server requires a login, and how to log in', async () => {
    const setup = closing(await arrange({ providers: [OKTA], storage: 'sqlite' }));
    const desk = closing(await openDesk('alice'));
    const codex = npmProgram('codex', OUTSIDE_FOLDER);
    await desk.run([...codex, 'mcp', 'add', 'vmcp', '--url', setup.resource]);
    await signOutEverywhere(setup.origin, { user: 'alice' });
    const server = desk.start([...codex, 'app-server']);
    try {
      await server.request('initialize', { clientInfo: { name: 'desk', title: 'desk', version: '1' } });
      server.notify('initialized');
      await server.request('thread/start', {});
      await until('the failed start', () => server.notifications().includes('"status":"failed"'));
      expect(server.notifications()).toContain('"failureReason":"reauthenticationRequired"');
      expect(server.notifications()).toContain('Run `codex mcp login vmcp`');
    } finally {
      await server.stop();
    }
  }, 120_000);
});

describe('Claude Code whose session was revoked', () => {
  it('says that the server needs a login, in its list and at the start of a conversation', async () => {
    const setup = closing(await arrange({ providers: [OKTA], storage: 'sqlite' }));
    const desk = closing(await openDesk('alice'));
    await addToClaude(desk, setup.resource);
    await logInWithClaude(desk);
    expect(await startClaude(desk)).toContain(CONNECTED);
    await signOutEverywhere(setup.origin, { user: 'alice' });
    expect((await desk.run([...CLAUDE, 'mcp', 'list'], CLAUDE_ENV)).stdout).toContain('Needs authentication');
    expect(await startClaude(desk)).toContain('{"name":"vmcp","status":"needs-auth"}');
  }, 120_000);
});

describe.each(Object.keys(clients))('%s', (name) => {
  it('logs in once by a browser, survives a restart and token refreshes, and logs in again after sign-out', async () => {
    const authServer = { token_lifespans: { access_token_lifespan: `${LIFESPAN}s` } };
    const setup = closing(await arrange({ providers: [OKTA], storage: 'sqlite', authServer }));
    const opened = { setup, desk: closing(await openDesk('alice')) };
    const call = () => clients[name]!(opened);
    expect(await call()).toBe('alice');
    const ends = Date.now() + LIFESPAN * 1_000;
    expect(await opened.desk.opened()).toBe(1);
    await setup.restart();
    expect(await call()).toBe('alice');
    // The tokens have to expire by the client's clock, too: some clients log in again if a server refuses an unexpired token.
    await until('the end of the first access token', () => Date.now() >= ends);
    expect(await call()).toBe('alice');
    expect(await opened.desk.opened()).toBe(1);
    expect(setup.gateway.log()).toContain('"auth_token_refreshed"');
    await signOutEverywhere(setup.origin, { user: 'alice' });
    expect(await call()).toBe('alice');
    expect(await opened.desk.opened()).toBe(2);
  }, 120_000);
});
