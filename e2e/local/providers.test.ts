import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLookAlikes } from '../../examples/providers/look-alikes.ts';
import { type RunningFake, serveFake } from '../fakes/mcp/serve.ts';
import { callTool, connect } from './call-tool.ts';
import { copyExample, movePorts } from './example.ts';
import { makeWorkplace, type Workplace } from './run-vmcp.ts';

// Runs the example with fakes of GitHub, Google and Slack, unchanged but for its ports.
let place: Workplace;
let endpoint: string;
let google: string;
let stopLookAlikes: () => Promise<void>;
let listener: RunningFake;
/** The Google token that the test's own backend received last. */
let given = '';
let token: string;

const LISTENER = `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: listener}
spec:
  groupRef: providers
  remoteUrl: URL
  externalAuthConfigRef: {name: listener-token}
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPExternalAuthConfig
metadata: {name: listener-token}
spec:
  type: upstreamInject
  upstreamInject: {providerName: google}
`;

beforeAll(async () => {
  place = makeWorkplace();
  listener = await serveFake({
    name: 'listener',
    tools: () => [{ name: 'listen', description: 'Keeps the token', inputSchema: { type: 'object' } }],
    call(_name, _args, { authorization = '' }) {
      given = authorization.replace('Bearer ', '');
      return '{"content":[],"structuredContent":{}}';
    },
  });
  const ports = await movePorts([4583, 4584, 4585, 4586, 4587, 4588, 4589]);
  const issuer = `http://127.0.0.1:${ports[4583]}`;
  endpoint = `${issuer}/mcp`;
  google = `http://127.0.0.1:${ports[4585]}`;
  stopLookAlikes = await startLookAlikes({
    issuer,
    ports: { github: ports[4584], google: ports[4585], slack: ports[4586] },
  });
  copyExample('providers', place, ports);
  place.manifest('listener.yaml', LISTENER.replace('URL', listener.url));
  const started = await place.run(['up', 'manifests', '--detach']);
  expect([started.code, started.stderr]).toEqual([0, '']);
  token = (await place.run(['token', 'alice'])).stdout.trim();
});
afterAll(async () => {
  await place.close();
  await stopLookAlikes();
  await listener.close();
});

describe('one login at GitHub, Google and Slack', () => {
  it('identifies the user by the user-info fields of GitHub, which issues no ID token', () => {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
    expect(claims).toMatchObject({ name: 'Alice Example', email: 'alice@example.test', aud: endpoint });
  });

  it('sends GitHub its token, which has neither expiry nor refresh token', async () => {
    expect(await callTool(endpoint, 'github_whoami', token)).toMatchObject({ subject: 'alice' });
  });

  it('sends Google its token', async () => {
    expect(await callTool(endpoint, 'google_whoami', token)).toMatchObject({
      subject: 'alice@example.test',
      issuer: google,
    });
  });

  it('sends Slack the user’s token, which is nested in its answer beside that of the bot', async () => {
    expect(await callTool(endpoint, 'slack_whoami', token)).toMatchObject({ subject: 'alice' });
  });

  it('refreshes a token that Google refuses, and the call succeeds', async () => {
    await callTool(endpoint, 'listener_listen', token);
    const former = given;
    expect(former).toMatch(/^google_/);
    await fetch(`${google}/oauth2/revoke`, { method: 'POST', body: new URLSearchParams({ token: former }) });
    expect(await callTool(endpoint, 'google_whoami', token)).toMatchObject({ subject: 'alice@example.test' });
    await callTool(endpoint, 'listener_listen', token);
    expect(given).toMatch(/^google_/);
    expect(given).not.toBe(former);
  });

  it('admits only the user that the policy names by a claim of GitHub, and shows no tool to others', async () => {
    const server = place.read('manifests/server.yaml');
    place.manifest('server.yaml', server.replace('["alice", "bob"]', '["bob"]'));
    const deadline = Date.now() + 15_000;
    let names = ['not asked'];
    while (names.length > 0 && Date.now() < deadline) {
      const client = await connect(endpoint, token);
      names = (await client.listTools()).tools.map(({ name }) => name);
      await client.close();
    }
    expect(names).toEqual([]);
  });
});
