import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

const ALICE = 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg';
const BOB = 'bob';

const serverOf = (name: string) => `# Written by hand.
apiVersion: vmcp.dev/v1alpha1
kind: VirtualMCPServer
metadata: { name: ${name} }
spec:
  config: { groupRef: dev }
  incomingAuth:
    type: oidc
    resourceUrl: https://mcp.example/mcp
    oidcConfig: { type: inline, inline: { issuer: 'https://mcp.example' } }
  authServerConfig:
    issuer: https://mcp.example
    upstreamProviders: [{ name: okta, type: oidc, oidcConfig: { issuerUrl: 'https://okta.example', clientId: ok } }]
`;

let home: OwnHome;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.close());

const fileOf = (name: string) => join(home.folder, `${name}.yaml`);
const write = (name: string) => writeFileSync(fileOf(name), serverOf(name));
const people = (...args: string[]) => home.vmcp(['people', ...args]);
const blocked = async (...args: string[]) =>
  (await people('blocked', ...args)).out.split('\n').filter((line) => line !== '');

describe('vmcp people', () => {
  it('blocks and unblocks users in the manifest, which keeps its comments', async () => {
    write('staff');
    const { code, err } = await people('block', ALICE, BOB);
    expect([code, err]).toEqual([0, expect.stringContaining(`${ALICE} is blocked at staff`)]);
    expect(readFileSync(fileOf('staff'), 'utf8')).toMatch(/^# Written by hand\.[^]*blockedUsers:/);
    expect((await people('block', BOB)).err).toContain(`${BOB} was blocked at staff already`);
    expect(await blocked()).toEqual([ALICE, BOB]);
    expect((await people('unblock', ALICE)).code).toBe(0);
    expect(await blocked()).toEqual([BOB]);
    await people('unblock', BOB);
    expect(readFileSync(fileOf('staff'), 'utf8')).toBe(serverOf('staff'));
  });

  it('needs the name of a server where there are several', async () => {
    write('staff');
    write('guests');
    const { code, err } = await people('block', BOB);
    expect([code, err]).toEqual([6, expect.stringContaining('VirtualMCPServer guests, VirtualMCPServer staff')]);
    expect((await people('block', BOB, '--server', 'guests')).code).toBe(0);
    expect([await blocked('--server', 'guests'), await blocked('--server', 'staff')]).toEqual([[BOB], []]);
  });

  it('refuses a text that is no user, and a folder without an authorization server', async () => {
    expect((await people('block', 'alice smith')).err).toContain('write the user_id of an audit line');
    expect((await people('block', BOB)).err).toContain('write authServerConfig in a VirtualMCPServer first');
  });
});
