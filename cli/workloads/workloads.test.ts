import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

const MANIFESTS = `apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: {name: dev}
spec: {}
---
# Counts cups
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: cups}
spec:
  groupRef: dev
  command: [npx, -y, cups] # of the kitchen
---
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: plates}
spec:
  groupRef: dev
  suspend: true
  command: [npx, -y, plates]
`;

let home: OwnHome;
beforeEach(() => {
  home = makeHome();
  writeFileSync(join(home.folder, 'all.yaml'), MANIFESTS);
});
afterEach(() => home.close());

const vmcp = (...args: string[]) => home.vmcp(args);
const manifest = () => readFileSync(join(home.folder, 'all.yaml'), 'utf8');

describe('workload commands without a running server', () => {
  it('list workloads with their planned state', async () => {
    expect((await vmcp('list', '--all')).out).toMatch(/^NAME .*\ncups +unknown +dev +stdio +cups .*\nplates +stopped /);
    expect((await vmcp('list')).err).toContain('vmcp list --all');
    expect((await vmcp('list', '--all', '--group', 'dev', '-o', 'name')).out).toBe('cups\nplates\n');
  });

  it('suggest a command to add a workload if there is none', async () => {
    const nowhere = await home.withoutFolder(['list']);
    expect([nowhere.code, nowhere.err]).toEqual([3, expect.stringMatching(/nothing runs here.* run '<source>'/)]);
    for (const line of [['logs'], ['logs', 'cups'], ['status'], ['doctor'], ['connect', 'cursor']])
      expect(await home.withoutFolder(line)).toMatchObject({
        code: 3,
        err: expect.stringMatching(/nothing runs here.* run '<source>'/) as unknown,
      });
    const missing = await home.withoutFolder(['list', '--folder', join(home.path, 'none')]);
    expect([missing.code, missing.err]).toEqual([3, expect.stringMatching(/no folder .* run '<source>'/)]);
  });

  it.each([
    [['get', 'nobody'], 'list --all'],
    [['stop', 'cups', 'nobody'], 'list --all'],
    [['group', 'get', 'nobody'], 'group list'],
    [['client', 'rm', 'cursor'], 'client list'],
    [['registry', 'info', 'nobody'], 'registry search'],
    [['skill', 'info', 'nobody'], 'skill list'],
  ])('name the list command for an unknown object: %j', async (line, list) => {
    const { code, err } = await vmcp(...line);
    expect([code, err]).toEqual([6, expect.stringContaining(`; "vmcp ${list}`)]);
  });

  it('do not overwrite a concurrent change during an edit', async () => {
    const editor = join(home.path, 'editor.sh');
    writeFileSync(editor, `sed -i 's/cups\\]/bowls]/' '${join(home.folder, 'all.yaml')}'\necho 'tools: [a]' >> "$1"\n`);
    const environment = { EDITOR: `sh ${editor}`, PATH: '/usr/bin:/bin' };
    const { code, err } = await home.vmcp(['edit', 'cups'], '', environment);
    expect([code, err]).toEqual([7, expect.stringContaining('has changed or gone since it was read')]);
    rmSync(/your text is in (\S+)\/cups\.yaml/.exec(err)?.[1] ?? '', { recursive: true });
    expect(manifest()).toBe(MANIFESTS.replace('cups]', 'bowls]'));
  });

  it('restart the running workloads of a group, and a stopped one only by name', async () => {
    expect((await vmcp('restart', '--group', 'dev')).err).toBe('cups: started anew; it is taken over when vmcp runs\n');
    expect(manifest()).toContain('suspend: true');
    expect((await vmcp('restart', 'plates')).code).toBe(0);
    expect(manifest()).not.toContain('suspend: true');
  });

  it('stop and start workloads in their manifests without waiting, and skip unaffected ones of a group', async () => {
    expect(await vmcp('stop', 'cups')).toMatchObject({
      code: 0,
      err: 'cups: stopped; it is taken over when vmcp runs\n',
    });
    expect(manifest()).toContain('# of the kitchen');
    expect((await vmcp('stop', '--group', 'dev')).err).toBe('nothing to do\n');
    expect((await vmcp('start', '--group', 'dev')).err).toMatch(/^cups, plates: started/);
    expect(manifest()).not.toContain('suspend');
  });

  it('remove the fields that are missing in the edited text', async () => {
    const { out: before } = await vmcp('get', 'cups');
    const text = join(home.path, 'cups.yaml');
    writeFileSync(text, `${before}env_vars: {SIZE: big}\n`);
    expect(await vmcp('edit', 'cups', '-f', text)).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^cups is changed/),
    });
    expect((await vmcp('get', 'cups')).out).toContain('SIZE: big');
    writeFileSync(text, before);
    expect((await vmcp('edit', 'cups', '-f', text)).code).toBe(0);
    expect((await vmcp('get', 'cups')).out).toBe(before);
    expect(manifest()).toContain('# Counts cups');
  });

  it('name an unknown field with its line and the nearest known field', async () => {
    const text = join(home.path, 'cups.yaml');
    writeFileSync(text, '# mine\ntransprot: stdio\npermission_profile: {network: {outbond: {}}}\n');
    const { code, err } = await vmcp('edit', 'cups', '-f', text);
    expect(code).toBe(1);
    expect(err).toContain('line 2: transprot: unknown field `transprot`; did you mean `transport`?');
    expect(err).toContain(
      'line 3: permission_profile.network.outbond: unknown field `outbond`; did you mean `outbound`?',
    );
  });

  it('reject an invalid text', async () => {
    const text = join(home.path, 'cups.yaml');
    for (const wrong of ['transport: [', 'transprot: stdio', 'name: saucers\ntransport: stdio\n']) {
      writeFileSync(text, wrong);
      expect((await vmcp('edit', 'cups', '-f', text)).code).toBe(1);
    }
    expect((await vmcp('edit', 'cups', '-f', join(home.path, 'nowhere'))).code).toBe(1);
    expect((await vmcp('edit', 'saucers', '-f', text)).code).toBe(6);
    for (const wrong of ['', 'cups', '- a']) {
      writeFileSync(text, wrong);
      expect(await vmcp('edit', 'cups', '-f', text)).toMatchObject({
        code: 1,
        err: expect.stringContaining('has no fields') as unknown,
      });
    }
    expect(manifest()).toBe(MANIFESTS);
  });

  it('delete after confirmation, even if another name is unknown', async () => {
    expect((await vmcp('rm', 'cups')).code).toBe(2);
    expect(await vmcp('rm', 'saucers', 'cups', '--yes')).toMatchObject({
      code: 6,
      err: expect.stringContaining('"saucers"'),
    });
    expect((await vmcp('list', '--all', '-o', 'name')).out).toBe('plates\n');
  });

  it('require either names or a group', async () => {
    for (const which of [[], ['cups', '--group', 'dev']])
      expect(await vmcp('stop', ...which)).toMatchObject({ code: 2, err: expect.stringContaining('not both') });
    expect((await vmcp('stop', '--group', 'nowhere')).code).toBe(6);
  });
});

describe('vmcp group', () => {
  it('creates, describes, lists and deletes unused groups', async () => {
    expect((await vmcp('group', 'create', 'ops', '--description', 'Runs')).code).toBe(0);
    expect((await vmcp('group', 'create', 'ops')).code).toBe(7);
    expect((await vmcp('group', 'create', 'Not A Name')).code).toBe(1);
    expect((await vmcp('group', 'list')).out).toMatch(
      /^NAME +WORKLOADS +DESCRIPTION\ndev +cups, plates +-\nops +- +Runs\n$/,
    );
    expect((await vmcp('group', 'edit', 'ops', '--description', '')).code).toBe(0);
    expect((await vmcp('group', 'get', 'ops')).out).not.toContain('Runs');
    expect(await vmcp('group', 'rm', 'dev', 'ops')).toMatchObject({ code: 7, err: expect.stringContaining('cups') });
    expect((await vmcp('group', 'list', '-o', 'name')).out).toBe('dev\n');
  });
});
