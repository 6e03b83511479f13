import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fetchToken } from '../fakes/identity-provider/fetch-token.ts';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { serveProtected, type ProtectedServer } from '../fakes/remote-server/serve-protected.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool } from './call-tool.ts';
import { server } from './manifests.ts';
import { eventually, makeWorkplace, ROOT, type Workplace } from './run-vmcp.ts';

// Tests a remote server that requires a login, behind a VirtualMCPServer and by itself: one login serves both.
let place: Workplace;
let issuer: IdentityProvider;
let remote: ProtectedServer;
let ports: number[];
const UP = ['up', 'manifests', '--detach'];
const BROWSER = `${process.execPath} ${join(ROOT, 'e2e', 'local', 'browse.ts')} alice`;
const nobody: Record<string, unknown> = {};
const endpoint = (index: number) => `http://127.0.0.1:${ports[index]}/mcp`;

/** Returns the server behind the VirtualMCPServer; `more` requests a separate endpoint. */
const manifest = (more: string) => `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: tickets}
spec: {groupRef: demo, remoteUrl: '${remote.url}', remoteAuth: {}${more}}
`;
const withPort = () => `, proxyPort: ${ports[1]}`;

beforeAll(async () => {
  place = makeWorkplace();
  issuer = await serveIdentityProvider();
  remote = await serveProtected({ issuer: issuer.issuer });
  ports = [await findFreePort(), await findFreePort()];
  place.manifest('server.yaml', server('demo', ports[0]!));
  place.manifest('tickets.yaml', manifest(withPort()));
  const { code, stderr } = await place.run(UP);
  expect([code, stderr]).toEqual([0, '']);
}, 120_000);
afterAll(async () => {
  await place.close();
  await Promise.all([issuer.close(), remote.close()]);
});

const ready = () => place.statusThat(({ backends }) => backends[0]?.phase === 'Ready');

describe('vmcp login', () => {
  it('appears in the status as the next step', async () => {
    const { stdout } = await place.run(['status']);
    expect(stdout).toContain('! log in at tickets: ');
    expect(stdout).toMatch(/or open http:\/\/127\.0\.0\.1:\d+\/login\/tickets\/\S{43}/);
    const { code, stderr } = await place.run(['login', 'nobody']);
    expect([code, stderr]).toEqual([1, 'vmcp: there is no backend nobody here (there is: tickets)\n']);
  });

  it('logs in with the browser of its user, for every endpoint of that server', async () => {
    const { code, stdout } = await place.run(['login', 'tickets'], { BROWSER });
    expect([code, stdout]).toEqual([0, 'logged in at tickets\n']);
    await ready();
    for (const [index, tool] of [
      [0, 'tickets_whoami'],
      [1, 'whoami'],
    ] as const) {
      const caller = await eventually(
        () => callTool(endpoint(index), tool).catch(() => nobody),
        ({ subject }) => subject === 'alice',
        40_000,
      );
      expect(caller).toMatchObject({ audience: [remote.url] });
    }
    expect((await place.run(['login'])).stdout).toBe('nothing waits for a login\n');
  }, 90_000);

  it('lasts over a restart', async () => {
    await place.run(['down']);
    expect((await place.run(UP)).code).toBe(0);
    await ready();
    expect(await callTool(endpoint(0), 'tickets_whoami')).toMatchObject({ subject: 'alice' });
  }, 90_000);

  it('serves its own endpoint only to the callers that this admits', async () => {
    const inline = `{issuer: '${issuer.issuer}', audience: tickets, jwksAllowPrivateIP: true}`;
    place.manifest('tickets.yaml', manifest(`${withPort()}, oidcConfig: {type: inline, inline: ${inline}}`));
    const status = async () => (await fetch(endpoint(1), { method: 'POST' }).catch(() => undefined))?.status;
    expect(await eventually(status, (seen) => seen === 401)).toBe(401);
    const token = await fetchToken(issuer.issuer, 'bob', 'tickets');
    expect(await callTool(endpoint(1), 'whoami', token)).toMatchObject({ subject: 'alice', audience: [remote.url] });
    expect(await callTool(endpoint(0), 'tickets_whoami')).toMatchObject({ subject: 'alice' });
  }, 90_000);

  it('closes the separate endpoint behind a VirtualMCPServer, which continues with the same login', async () => {
    place.manifest('tickets.yaml', manifest(''));
    const processes = async () => (await place.status()).processes.map(({ name }) => name);
    expect(await eventually(processes, (names) => !names.includes('mcp-tickets-proxy'))).toEqual(['vmcp-demo']);
    await expect(fetch(endpoint(1))).rejects.toThrow('fetch failed');
    expect(await callTool(endpoint(0), 'tickets_whoami')).toMatchObject({ subject: 'alice' });
    // The next start, which reads only the manifest, does not open it either.
    await place.run(['down']);
    expect((await place.run(UP)).code).toBe(0);
    await ready();
    expect(await processes()).toEqual(['vmcp-demo']);
    expect(await callTool(endpoint(0), 'tickets_whoami')).toMatchObject({ subject: 'alice' });
  }, 120_000);
});
