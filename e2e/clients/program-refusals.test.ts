import { afterEach, describe, expect, it } from '@jest/globals';
import { arrange, type Arrangement } from '../authserver/arrangement.ts';
import type { ProviderSpec } from '../authserver/providers.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { npmProgram, openDesk, type Desk } from './desk.ts';

const OKTA: ProviderSpec = { name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates', expiresIn: 3_600 } };

afterEach(closeAll);

interface Called {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}
/** Calls `picky_tool_0` once. */
type Caller = (desk: Desk, setup: Arrangement) => Promise<Called>;

/** Starts a backend that refuses the tokens of this many calls. */
async function start(refusals: number): Promise<{ setup: Arrangement; desk: Desk; calls: () => number }> {
  let calls = 0;
  const backend = closing(
    await servePlain({
      tools: 1,
      intercept(_request, response, body) {
        if (!body.includes('"tools/call"')) return false;
        calls += 1;
        if (calls > refusals) return false;
        response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
        return true;
      },
    }),
  );
  const auth = { type: 'upstream_inject', provider_name: 'okta' } as const;
  const backends = [{ name: 'picky', transport: 'streamable-http' as const, url: backend.url, auth }];
  const setup = closing(await arrange({ providers: [OKTA], backends }));
  return { setup, desk: closing(await openDesk('alice')), calls: () => calls };
}

const programs: Readonly<Record<string, Caller>> = {
  async 'the MCP Inspector on a command line'(desk, { resource }) {
    const callback = `http://127.0.0.1:${await findFreePort()}/oauth/callback`;
    const target = ['--cli', resource, '--transport', 'http', '--callback-url', callback, '--format', 'json'];
    const tool = ['--method', 'tools/call', '--tool-name', 'picky_tool_0', '--tool-arg', 'text=x'];
    const env = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' };
    const { stdout, stderr } = await desk.run([...npmProgram('mcp-inspector'), ...target, ...tool], env);
    if (!stdout.startsWith('{')) throw new Error(`it says no result: ${stdout} ${stderr}`);
    return (JSON.parse(stdout) as { result: Called }).result;
  },
  async 'mcp-remote'(desk, { resource }) {
    const client = desk.start([...npmProgram('mcp-remote'), resource, '--transport', 'http-only']);
    const about = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'desk', version: '1' } };
    await client.request('initialize', about);
    client.notify('notifications/initialized');
    const { result, error } = await client.request('tools/call', { name: 'picky_tool_0', arguments: { text: 'x' } });
    await client.stop();
    if (result === undefined) throw new Error(`it says no result: ${JSON.stringify(error)} ${client.stderr()}`);
    return result as unknown as Called;
  },
};

describe.each(Object.keys(programs))("%s, if a backend answers 401 to a provider's token", (name) => {
  const call = programs[name]!;

  it('gets the result of the same call, repeated with a renewed token', async () => {
    const { setup, desk, calls } = await start(1);
    expect(await call(desk, setup)).toMatchObject({ content: [{ type: 'text' }] });
    expect(calls()).toBe(2);
    expect(await desk.opened()).toBe(1);
  });

  it('gets the link as a result if the backend refuses the renewed token, and does not log in repeatedly', async () => {
    const { setup, desk, calls } = await start(Infinity);
    const { isError, content } = await call(desk, setup);
    expect(isError).toBe(true);
    expect(content[0]?.text).toContain('/connections/link?ticket=');
    expect(calls()).toBe(2);
    expect(await desk.opened()).toBe(1);
  });
});
