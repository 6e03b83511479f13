import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool } from './call-tool.ts';
import { headerAuth, secret, server, whoami } from './manifests.ts';
import { makeWorkplace, type Workplace } from './run-vmcp.ts';

let place: Workplace;
let port: number;
let backendPort: number;
const UP = ['up', 'manifests', '--detach', '--timeout', '60s'];
const endpoint = () => `http://127.0.0.1:${port}/mcp`;
const listeners: Server[] = [];

beforeEach(async () => {
  place = makeWorkplace();
  [port, backendPort] = [await findFreePort(), await findFreePort()];
  place.manifest('server.yaml', server('demo', port));
  place.manifest('good.yaml', whoami('good', 'demo', backendPort));
});
afterEach(async () => {
  for (const listener of listeners.splice(0)) listener.close();
  await place.close();
});

async function occupy(taken: number): Promise<void> {
  const listener = createServer();
  listeners.push(listener);
  await new Promise<void>((resolve) => listener.listen(taken, '127.0.0.1', resolve));
}

/** What is wrong is told, and the good backend is served all the same. */
async function expectTheRestServed(message: RegExp): Promise<void> {
  const { code, stdout, stderr } = await place.run(UP);
  expect(stdout + stderr).toMatch(message);
  expect(code).toBe(0);
  expect(await callTool(endpoint(), 'good_whoami')).toMatchObject({ subject: null });
}

describe('what is wrong with one thing is told by name, and the rest is served', () => {
  it('YAML that cannot be read', async () => {
    place.manifest('broken.yaml', 'apiVersion: vmcp.dev/v1alpha1\nkind: [MCPServer\n');
    await expectTheRestServed(/broken\.yaml:\d+/);
  });

  it('a field of a wrong type', async () => {
    place.manifest('wrong.yaml', whoami('wrong', 'demo', 4599).replace('mcpPort: 4599', 'mcpPort: many'));
    await expectTheRestServed(/wrong\.yaml:\d+.*spec\.mcpPort/);
  });

  it('a field that does not exist', async () => {
    place.manifest('wrong.yaml', whoami('wrong', 'demo', 4599, '  toolFilter: [a]\n'));
    await expectTheRestServed(/wrong\.yaml:\d+.*toolFilter.*toolsFilter/);
  });

  it('a Secret that is not there', async () => {
    place.manifest('keyed.yaml', whoami('keyed', 'demo', 4599, '  externalAuthConfigRef: {name: key}\n'));
    place.manifest('key.yaml', headerAuth('key', 'absent'));
    await expectTheRestServed(/keyed +Excluded.*Secret "absent".*create it/);
  });

  it('a key that its Secret has not got', async () => {
    place.manifest('keyed.yaml', whoami('keyed', 'demo', 4599, '  externalAuthConfigRef: {name: key}\n'));
    place.manifest('key.yaml', headerAuth('key', 'other').replace('key: value', 'key: nothing'));
    place.manifest('secret.yaml', secret('other', 'never shown'));
    const { stdout, stderr } = await place.run(UP);
    expect(stdout).toMatch(/Secret "other" has no key "nothing" \(it has: value\)/);
    expect(stdout + stderr).not.toContain('never shown');
  });

  it('a backend that does not start', async () => {
    const dead = whoami('dead', 'demo', 4599).replace(/command:.*/, 'command: [no-such-program-anywhere]');
    place.manifest('dead.yaml', dead);
    await expectTheRestServed(/mcp-dead could not be started \(ENOENT\)/);
  });

  it('a second server whose group does not exist', async () => {
    place.manifest(
      'lonely.yaml',
      server('lonely', await findFreePort()).replace('groupRef: lonely', 'groupRef: nowhere'),
    );
    await expectTheRestServed(/MCPGroup "nowhere"/);
  });
});

describe('where nothing can be served, up says why and leaves nothing running', () => {
  async function expectRefused(code: number, message: RegExp): Promise<void> {
    const result = await place.run(UP);
    expect(result.stderr).toMatch(message);
    expect(result.code).toBe(code);
    expect((await place.run(['status'])).code).toBe(3);
  }

  it('a group that does not exist', async () => {
    place.manifest('server.yaml', server('demo', port).replace('groupRef: demo', 'groupRef: nowhere'));
    await expectRefused(1, /MCPGroup "nowhere"/);
  });

  it('a policy that is not valid', async () => {
    const policy = `
    authzConfig: {type: inline, inline: {policies: ['permit(principal, action, resource) whenever;']}}
    oidcConfig: {type: inline, inline: {issuer: http://127.0.0.1:1, audience: a}}`;
    place.manifest('server.yaml', server('demo', port).replace('type: anonymous', `type: oidc${policy}`));
    await expectRefused(1, /InvalidPolicy.*policies\[0\]/);
  });

  it('a port that another program has, which is said once', async () => {
    await occupy(port);
    const { stdout, stderr } = await place.run(UP);
    expect(`${stdout}${stderr}`.match(/is in use by another program/g)).toHaveLength(1);
    await expectRefused(
      3,
      new RegExp(`port ${port} is in use by another program: stop what uses it, or set another port`),
    );
  });

  it('fields that are wrong, each with its line', async () => {
    place.manifest('server.yaml', server('demo', port).replace('type: anonymous', 'type: open'));
    const result = await place.run(['validate', 'manifests']);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/server\.yaml:7: spec\.incomingAuth\.type: /);
    await expectRefused(1, /server\.yaml:7/);
  });
});

it('a private port that is busy is avoided, as no user types it', async () => {
  const first = await place.run(UP);
  expect(first.code).toBe(0);
  const second = makeWorkplace();
  try {
    const otherPort = await findFreePort();
    second.manifest('server.yaml', server('demo', otherPort));
    second.manifest('good.yaml', whoami('good', 'demo', await findFreePort()));
    expect(await second.run(UP)).toMatchObject({ code: 0 });
    expect((await second.status()).endpoint).toBe(`http://127.0.0.1:${otherPort}/mcp`);
  } finally {
    await second.close();
  }
});
