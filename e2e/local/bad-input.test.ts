import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool } from './call-tool.ts';
import { headerAuth, secret, server, whoami } from './manifests.ts';
import { makeWorkplace, type Workplace } from './run-vmcp.ts';

const UP = ['up', 'manifests', '--detach', '--timeout', '60s'];

let place: Workplace;
let port: number;

/** Makes a folder with one server and one valid backend. */
async function makeGoodPlace(): Promise<void> {
  place = makeWorkplace();
  port = await findFreePort();
  place.manifest('server.yaml', server('demo', port));
  place.manifest('good.yaml', whoami('good', 'demo', await findFreePort()));
}

describe('vmcp up with an error in one resource', () => {
  let result: Awaited<ReturnType<Workplace['run']>>;
  const told = () => result.stdout + result.stderr;

  // One run has all errors, which shows that none hides another.
  beforeAll(async () => {
    await makeGoodPlace();
    const keyed = (name: string, at: number) =>
      whoami(name, 'demo', at, `  externalAuthConfigRef: {name: ${name}-key}\n`);
    const manifests = {
      broken: 'apiVersion: vmcp.dev/v1alpha1\nkind: [MCPServer\n',
      type: whoami('type', 'demo', 4599).replace('mcpPort: 4599', 'mcpPort: many'),
      field: whoami('field', 'demo', 4599, '  toolFilter: [a]\n'),
      secretless: keyed('secretless', 4597),
      'secretless-key': headerAuth('secretless-key', 'absent'),
      keyless: keyed('keyless', 4598),
      'keyless-key': headerAuth('keyless-key', 'other').replace('key: value', 'key: nothing'),
      secret: secret('other', 'never shown'),
      dead: whoami('dead', 'demo', 4599).replace(/command:.*/, 'command: [no-such-program-anywhere]'),
      lonely: server('lonely', await findFreePort()).replace('groupRef: lonely', 'groupRef: nowhere'),
    };
    for (const [name, text] of Object.entries(manifests)) place.manifest(`${name}.yaml`, text);
    result = await place.run(UP);
  });
  afterAll(() => place.close());

  it.each([
    ['YAML that cannot be read', /broken\.yaml:\d+/],
    ['a field of a wrong type', /type\.yaml:\d+.*spec\.mcpPort/],
    ['a field that does not exist', /field\.yaml:\d+.*toolFilter.*toolsFilter/],
    ['a Secret that is not there', /secretless +Excluded.*Secret "absent".*create it/],
    ['a key that its Secret has not got', /keyless +Excluded.*Secret "other" has no key "nothing" \(it has: value\)/],
    ['a backend that does not start', /mcp-dead could not be started \(ENOENT\)/],
    ['a second server whose group does not exist', /MCPGroup "nowhere"/],
  ])('reports %s by name', (_, message) => {
    expect(told()).toMatch(message);
  });

  it('serves the good backend, and shows no value of a Secret', async () => {
    expect(told()).not.toContain('never shown');
    expect(await callTool(`http://127.0.0.1:${port}/mcp`, 'good_whoami')).toMatchObject({ subject: null });
  });

  it('returns the exit code of vmcp status, as one endpoint does not serve', async () => {
    expect(told()).toContain('lonely is not served; it goes on in the background: see');
    expect({ up: result.code, status: (await place.run(['status'])).code }).toEqual({ up: 3, status: 3 });
    expect((await place.run(['status', 'demo'])).code).toBe(0);
  });

  it('replaces a private port that is busy, as no user types it', async () => {
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
});

describe('vmcp up that can serve nothing', () => {
  beforeAll(makeGoodPlace);
  afterAll(() => place.close());

  async function expectRefused(code: number, message: RegExp): Promise<string> {
    const result = await place.run(UP);
    expect(result.stderr).toMatch(message);
    expect(result.code).toBe(code);
    expect((await place.run(['status'])).code).toBe(3);
    return result.stdout + result.stderr;
  }

  it('refuses a group that does not exist, and leaves nothing running', async () => {
    place.manifest('server.yaml', server('demo', port).replace('groupRef: demo', 'groupRef: nowhere'));
    await expectRefused(1, /MCPGroup "nowhere"/);
  });

  it('refuses an invalid policy, and leaves nothing running', async () => {
    const policy = `
    authzConfig: {type: inline, inline: {policies: ['permit(principal, action, resource) whenever;']}}
    oidcConfig: {type: inline, inline: {issuer: http://127.0.0.1:1, audience: a}}`;
    place.manifest('server.yaml', server('demo', port).replace('type: anonymous', `type: oidc${policy}`));
    await expectRefused(1, /InvalidPolicy.*policies\[0\]/);
  });

  it('refuses a port of another program, reports it once, and leaves nothing running', async () => {
    place.manifest('server.yaml', server('demo', port));
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve));
    try {
      const message = `port ${port} is in use by another program: stop what uses it, or set another spec.listen.port`;
      const said = await expectRefused(3, new RegExp(message));
      expect(said.match(/is in use by another program/g)).toHaveLength(1);
      // The output omits resources that only wait for the port.
      expect(said).not.toMatch(/Pending|Unknown|running/);
    } finally {
      listener.close();
    }
  });

  it('reports wrong fields, each with its line', async () => {
    place.manifest('server.yaml', server('demo', port).replace('type: anonymous', 'type: open'));
    const result = await place.run(['validate', 'manifests']);
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/server\.yaml:7: spec\.incomingAuth\.type: /);
    await expectRefused(1, /server\.yaml:7/);
  });
});
