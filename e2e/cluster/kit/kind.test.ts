import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openKind } from './open-kind.ts';

const { PATH = '' } = process.env;
let folder: string;

/** Writes a program that logs its arguments, and then runs a script. */
function program(name: string, script = 'exit 0'): void {
  writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s\\n' "${name} $*" >>${folder}/calls\n${script}\n`, {
    mode: 0o755,
  });
}
/** Returns the calls one by one, without the folder of the run, whose name changes. */
const calls = () =>
  readFileSync(join(folder, 'calls'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(/\S*\/vmcp-kind-\w+\//g, ''));
const leftFolders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('vmcp-kind-'));
const PACKED = 'packed images.tar';
const open = ({
  uid = 0,
  platform = 'linux',
  image,
}: { uid?: number; platform?: NodeJS.Platform; image?: string } = {}) =>
  openKind({
    pack(archive) {
      writeFileSync(archive, 'images');
      writeFileSync(join(folder, 'calls'), `packed ${archive}\n`, { flag: 'a' });
      return Promise.resolve();
    },
    tell: () => undefined,
    image,
    platform,
    uid,
  });
const LISTED = 'kind get clusters';
const CREATED = 'kind create cluster --kubeconfig kubeconfig --config kind.json --wait 120s --name vmcp-e2e';
const LOADED = 'kind load image-archive images.tar --name vmcp-e2e';
const ROUTED = [
  'ip route replace 10.244.0.0/24 via 172.18.0.3',
  'ip route replace 10.244.2.0/24 via 172.18.0.2',
  'ip route replace 10.244.1.0/24 via 172.18.0.4',
  'ip route replace 10.96.0.0/16 via 172.18.0.3',
];
const UNROUTED = ['10.244.0.0/24', '10.244.2.0/24', '10.244.1.0/24', '10.96.0.0/16'].map(
  (range) => `ip route del ${range}`,
);
const DELETED = 'kind delete cluster --name vmcp-e2e';
const WAITED = 'kubectl --kubeconfig kubeconfig wait node --all --for=condition=Ready --timeout=120s';
const ASKED = expect.stringContaining('kubectl --kubeconfig kubeconfig get nodes -o') as unknown;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-programs-'));
  for (const name of ['kind', 'docker', 'helm', 'ip']) program(name);
  program(
    'kubectl',
    '[ $3 = wait ] || printf "10.244.0.0/24 172.18.0.3 fc00::3\\n10.244.2.0/24 172.18.0.2\\n10.244.1.0/24 172.18.0.4\\n"',
  );
  process.env.PATH = [folder, PATH].join(delimiter);
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

describe('openKind', () => {
  it('creates a cluster with the images in its node and routes to its addresses, and removes all of them at the end', async () => {
    program('kind', `[ $1 = create ] && cp "$6" ${folder}/config; exit 0`);
    const before = leftFolders();
    const cluster = await open();
    if ('missing' in cluster) throw new Error(cluster.missing);
    expect(calls()).toEqual(['docker info', LISTED, PACKED, CREATED, LOADED, WAITED, ASKED, ...ROUTED]);
    expect(JSON.parse(readFileSync(join(folder, 'config'), 'utf8'))).toMatchObject({
      nodes: [{ role: 'control-plane' }, { role: 'worker' }, { role: 'worker' }],
      networking: { podSubnet: '10.244.0.0/16', serviceSubnet: '10.96.0.0/16' },
    });
    await cluster.close();
    expect(calls().slice(11)).toEqual([...UNROUTED, DELETED]);
    expect(leftFolders()).toEqual(before);
  });

  it('uses the given image for the node', async () => {
    const cluster = await open({ image: 'mirror.example/node:v1' });
    if ('missing' in cluster) throw new Error(cluster.missing);
    await cluster.close();
    expect(calls()[3]).toBe(CREATED.replace(' --name', ' --image mirror.example/node:v1 --name'));
  });

  it('uses sudo for the routes if the user is not root', async () => {
    program('sudo');
    const cluster = await open({ uid: 1000 });
    if ('missing' in cluster) throw new Error(cluster.missing);
    await cluster.close();
    expect(calls().filter((line) => line.startsWith('sudo'))).toEqual([
      'sudo -n true',
      ...[...ROUTED, ...UNROUTED].map((call) => `sudo -n ${call}`),
    ]);
  });

  it.each([
    ['kind', 'create', [PACKED, CREATED]],
    ['kind', 'load', [PACKED, CREATED, LOADED]],
    ['kubectl', '--kubeconfig', [PACKED, CREATED, LOADED, WAITED]],
    ['ip', 'route', [PACKED, CREATED, LOADED, WAITED, ASKED, 'ip route replace 10.244.0.0/24 via 172.18.0.3']],
  ])('reports a failure of %s %s, also after a failed deletion, and leaves nothing', async (name, step, done) => {
    const before = leftFolders();
    const fails = 'echo "no room to $1" >&2; exit 1';
    program(name, `[ $1 = ${step} ] || [ $1 = delete ] && { ${fails}; }; exit 0`);
    await expect(open()).rejects.toThrow(`no room to ${step}`);
    expect(calls()).toEqual(['docker info', LISTED, ...done, DELETED]);
    expect(leftFolders()).toEqual(before);
  });

  it('refuses to create or delete a cluster if kind has one of that name', async () => {
    program('kind', '[ $1 = get ] && printf "other\\nvmcp-e2e\\n"; exit 0');
    await expect(open()).rejects.toThrow('kind has a cluster vmcp-e2e: another run uses it, or left it');
    expect(calls()).toEqual(['docker info', LISTED]);
  });

  it('names each missing program', async () => {
    process.env.PATH = folder;
    rmSync(join(folder, 'helm'));
    rmSync(join(folder, 'kind'));
    expect(await open()).toEqual({ missing: 'E2E_CLUSTER=kind needs kind, helm' });
  });

  it('reports a Docker client without a daemon, and starts nothing', async () => {
    program('docker', 'exit 1');
    expect(await open()).toEqual({
      missing: 'E2E_CLUSTER=kind needs Docker, and no daemon answers docker info: start it',
    });
    expect(calls()).toEqual(['docker info']);
  });

  it('reports a user who may not add routes, and starts nothing', async () => {
    program('sudo', 'exit 1');
    const missing = expect.stringContaining('E2E_CLUSTER=kind needs root, or sudo without a password') as unknown;
    expect(await open({ uid: 1000 })).toEqual({ missing });
    expect(calls()).toEqual(['docker info', 'sudo -n true']);
  });

  it('reports a system other than Linux', async () => {
    const missing = expect.stringContaining('E2E_CLUSTER=kind needs Linux') as unknown;
    expect(await open({ platform: 'darwin' })).toEqual({ missing });
  });
});
