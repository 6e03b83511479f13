import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { takeLock } from '#local/lock';
import { locateState } from '#local/state-folder';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

const VALUE = 'hunter2-the-value';
let home: OwnHome;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.close());

const vmcp = (args: string[], input?: string, environment?: NodeJS.ProcessEnv) =>
  home.vmcp(['secret', ...args], input, environment);

const stored = (key: string, environment: NodeJS.ProcessEnv = { HOME: home.path }) =>
  new LocalSecrets({ state: locateState(home.state), environment }).read('default', [key]);

describe('vmcp secret', () => {
  it('stores a first secret without preparation, and prints the reference to it', async () => {
    const { code, out, err } = await vmcp(['set', 'API_KEY'], `${VALUE}\n`);
    expect([code, out]).toEqual([0, '']);
    expect(err).toContain('{name: vmcp-secrets, key: API_KEY}');
    expect(err).toContain('taken over when vmcp runs');
    expect(err).not.toContain('hunter2');
    expect(await stored('API_KEY')).toEqual(new Map([['API_KEY', VALUE]]));
    const password = join(home.path, '.config/vmcp/secrets-password');
    expect(statSync(password).mode & 0o777).toBe(0o600);
    expect(err).not.toContain(readFileSync(password, 'utf8').trim());
  });

  it('changes a secret, stores a file unchanged, lists keys and deletes', async () => {
    await vmcp(['set', 'B'], VALUE);
    writeFileSync(join(home.path, 'key.pem'), 'line 1\nline 2\n');
    expect((await vmcp(['set', 'B', '--file', join(home.path, 'key.pem')])).err).toContain('secret B is changed');
    expect((await stored('B')).get('B')).toBe('line 1\nline 2\n');
    await vmcp(['set', 'A'], 'x');
    expect((await vmcp(['list', '-o', 'name'])).out).toBe('A\nB\n');
    expect(JSON.parse((await vmcp(['list', '-o', 'json'])).out)).toEqual([{ key: 'A' }, { key: 'B' }]);
    expect((await vmcp(['rm', 'A'])).code).toBe(2);
    expect(await vmcp(['rm', 'NO', 'A', '--yes'])).toMatchObject({ code: 6, err: expect.stringContaining('"NO"') });
    expect((await vmcp(['list', '-o', 'name'])).out).toBe('B\n');
  });

  it('rejects an invalid key before asking for the value', async () => {
    const { code, err } = await vmcp(['set', '../../etc/passwd']);
    expect([code, err]).toEqual([1, expect.stringContaining('not a key; write letters')]);
    expect(err).not.toContain('nothing was given');
  });

  it('prints the remedy for each provider without secrets', async () => {
    await vmcp(['setup', 'environment']);
    const { code, err } = await vmcp(['list']);
    expect([code, err]).toEqual([0, expect.stringContaining('VMCP_SECRET_<key>')]);
    expect(err).not.toContain('secret set');
  });

  it('asks the running server once for a list', async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer(({ url }, response) => {
      asked.push(url);
      response.end(JSON.stringify({ provider_type: 'encrypted', keys: [{ key: 'A' }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const state = locateState(home.state);
    mkdirSync(state.path, { recursive: true });
    const giveBack = takeLock(state, home.folder, '');
    try {
      writeFileSync(state.managementAddress, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      writeFileSync(state.managementToken, 'the-token');
      expect(await vmcp(['list', '-o', 'name'])).toMatchObject({ code: 0, out: 'A\n' });
      expect(asked).toEqual(['/api/v1beta/secrets/default/keys']);
    } finally {
      giveBack();
      server.closeAllConnections();
      server.close();
    }
  });

  it('needs no folder of manifests', async () => {
    expect((await home.withoutFolder(['secret', 'list'])).code).toBe(0);
    expect((await home.withoutFolder(['client', 'list'])).code).toBe(3);
  });

  it('exits with the matching code', async () => {
    expect(await vmcp(['list'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('secret set <key>') });
    expect((await vmcp(['list', '-o', 'json'])).out).toBe('[]\n');
    expect((await vmcp(['set', '../../etc/passwd'], VALUE)).code).toBe(1);
    expect((await vmcp(['set', 'A'])).code).toBe(1);
    expect((await vmcp(['set', 'A'], 'x'.repeat(70_000))).code).toBe(1);
    expect((await vmcp(['set', 'A', '--file', join(home.path, 'nowhere')])).code).toBe(1);
    expect((await vmcp(['rm', 'NO', '--yes'])).code).toBe(6);
    expect((await vmcp(['setup', 'kubernetes'])).code).toBe(1);
    expect((await vmcp(['setup', 'vault'])).code).toBe(2);
  });

  it('changes the password of the encrypted secrets from a file', async () => {
    await vmcp(['set', 'A'], VALUE);
    writeFileSync(join(home.path, 'new'), 'another password\n');
    const { code, err } = await vmcp(['setup', '--password-file', join(home.path, 'new')]);
    expect([code, err]).toEqual([0, expect.stringContaining('sealed anew')]);
    expect(await stored('A', { VMCP_SECRETS_PASSWORD: 'another password' })).toEqual(new Map([['A', VALUE]]));
  });

  it('provides keys to vmcp validate and vmcp render, which show no value and report a locked store', async () => {
    const secrets = '[{name: vmcp-secrets, key: API_KEY, targetEnvName: API_KEY}]';
    const server = `apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: cups}\nspec: {command: [cups], secrets: ${secrets}}\n`;
    writeFileSync(join(home.folder, 'cups.yaml'), server);
    const check = (command: string, environment?: NodeJS.ProcessEnv) =>
      home.withoutFolder([command, home.folder], environment);
    expect(await check('validate')).toMatchObject({ code: 1, err: expect.stringContaining('no key "API_KEY"') });
    await vmcp(['set', 'API_KEY'], VALUE);
    expect(await check('validate')).toMatchObject({ code: 0, err: '' });
    const { code, out, err } = await check('render');
    expect([code, err, out]).toEqual([0, '', expect.not.stringContaining('hunter2')]);
    expect(await check('validate', { VMCP_SECRETS_PASSWORD: 'another' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('is locked'),
    });
  });

  it('names where the secrets of a read-only provider can be changed', async () => {
    expect((await vmcp(['setup', 'environment'])).code).toBe(0);
    const refused = await vmcp(['set', 'A'], VALUE);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('VMCP_SECRET_<key>')]);
  });
});
