import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import { accountAt, type ProviderSpec } from '../authserver/providers.ts';
import { signOutEverywhere } from '../authserver/sign-out-everywhere.ts';
import { setWallClock, type WallClock } from '../authserver/wall-clock.ts';
import type { Caller } from '../fakes/whoami/describe-caller.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { npmProgram, openDesk, type Desk, type LineClient } from './desk.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };
/** Lifespan of an access token, in seconds. */
const LIFESPAN = 2;

afterEach(async () => {
  jest.restoreAllMocks();
  await closeAll();
});

async function start(): Promise<{ setup: Arrangement; desk: Desk; clock: WallClock }> {
  const clock = setWallClock();
  const authServer = { token_lifespans: { access_token_lifespan: `${LIFESPAN}s` } };
  const setup = closing(await arrange({ providers: [OKTA], storage: 'sqlite', authServer }));
  return { setup, desk: closing(await openDesk('alice')), clock };
}

/** Returns the caller's account at the backend, from the result of `okta_whoami`. */
const accountIn = ({ providers }: Arrangement, result: unknown) =>
  accountAt(providers.okta!, (result as { structuredContent: Caller }).structuredContent);

describe('the MCP Inspector on a command line', () => {
  async function prepare(setup: Arrangement, desk: Desk): Promise<() => Promise<string | undefined>> {
    const callback = `http://127.0.0.1:${await findFreePort()}/oauth/callback`;
    const target = ['--cli', setup.resource, '--transport', 'http', '--callback-url', callback, '--format', 'json'];
    const tool = ['--method', 'tools/call', '--tool-name', 'okta_whoami'];
    const env = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' };
    return async () => {
      const { code, stdout, stderr } = await desk.run([...npmProgram('mcp-inspector'), ...target, ...tool], env);
      if (code !== 0) throw new Error(`it ended with ${code}: ${stderr}`);
      return accountIn(setup, (JSON.parse(stdout) as { result: unknown }).result);
    };
  }

  it('opens a login with its old tokens after the server lost its keys and logins', async () => {
    const { setup, desk } = await start();
    const call = await prepare(setup, desk);
    expect(await call()).toBe('alice');
    await setup.restartWithoutState();
    expect(await call()).toBe('alice');
    expect(await desk.opened()).toBe(2);
  });

  it('logs in once by a browser, survives a restart and token refreshes, and logs in again after sign-out', async () => {
    const { setup, desk, clock } = await start();
    const call = await prepare(setup, desk);
    expect(await call()).toBe('alice');
    expect(await desk.opened()).toBe(1);
    await setup.restart();
    expect(await call()).toBe('alice');
    clock.forward(LIFESPAN * 1_000);
    expect(await call()).toBe('alice');
    expect(await desk.opened()).toBe(1);
    await signOutEverywhere(setup.origin, { user: 'alice' });
    expect(await call()).toBe('alice');
    expect(await desk.opened()).toBe(2);
  });
});

describe('mcp-remote', () => {
  async function connect(desk: Desk, { resource }: Arrangement): Promise<LineClient> {
    const client = desk.start([...npmProgram('mcp-remote'), resource, '--transport', 'http-only']);
    const clientInfo = { name: 'desk', version: '1' };
    const { error } = await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo,
    });
    if (error !== undefined) throw new Error(`${JSON.stringify(error)}: ${client.stderr()}`);
    client.notify('notifications/initialized');
    return client;
  }

  const ask = async (client: LineClient, setup: Arrangement) =>
    accountIn(setup, (await client.request('tools/call', { name: 'okta_whoami', arguments: {} })).result);

  it('opens a login with its old tokens after the server lost its keys and logins', async () => {
    const { setup, desk } = await start();
    const first = await connect(desk, setup);
    expect(await ask(first, setup)).toBe('alice');
    await first.stop();
    await setup.restartWithoutState();
    expect(await ask(await connect(desk, setup), setup)).toBe('alice');
    expect(await desk.opened()).toBe(2);
  });

  it('logs in once by a browser, survives a restart and token refreshes, and logs in again after sign-out', async () => {
    const { setup, desk, clock } = await start();
    const call = (client: LineClient) => ask(client, setup);
    const first = await connect(desk, setup);
    expect(await call(first)).toBe('alice');
    clock.forward(LIFESPAN * 1_000);
    expect(await call(first)).toBe('alice');
    await first.stop();
    await setup.restart();
    const second = await connect(desk, setup);
    expect(await call(second)).toBe('alice');
    expect(await desk.opened()).toBe(1);
    await second.stop();
    await signOutEverywhere(setup.origin, { user: 'alice' });
    const third = await connect(desk, setup);
    expect(await call(third)).toBe('alice');
    expect(await desk.opened()).toBe(2);
  });
});
