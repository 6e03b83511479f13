import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { packImages } from '../cluster/kit/pack-images.ts';
import { stageNode } from '../cluster/kit/stage-node.ts';
import { type Containers, describeWithContainers, openContainers } from '../containers/open-containers.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { connect } from './call-tool.ts';
import { secret, server } from './manifests.ts';
import { eventually, makeWorkplace, type Workplace } from './run-vmcp.ts';

const IMAGE = 'vmcp.test/look-around:1';
const KEY = randomBytes(12).toString('hex');
const NOTE = randomBytes(12).toString('hex');
const SERVER = join(import.meta.dirname, 'testdata/look-around.ts');

let containers: Containers;
let place: Workplace;
let endpoint: string;
/** Folders of this machine that the programs see. */
let shared: string;

async function loadImage(): Promise<void> {
  const [base, app] = [join(containers.folder, 'node'), join(containers.folder, 'app')];
  stageNode(base);
  mkdirSync(app, { mode: 0o755 });
  copyFileSync(SERVER, join(app, 'look-around.ts'));
  const config = { Env: ['PATH=/usr/local/bin:/bin'], Entrypoint: ['/usr/local/bin/node', '/app/look-around.ts'] };
  const archive = join(containers.folder, 'image.tar');
  packImages(archive, [{ name: IMAGE, layers: [{ folder: base }, { folder: app, at: '/app' }], config }]);
  await containers.load(archive);
}

function program(name: string, more: string): string {
  return `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: ${name}}
spec:
  groupRef: demo
  image: ${IMAGE}
${more}`;
}

const closed = () =>
  program(
    'closed',
    `  transport: stdio
  permissionProfile: {type: builtin, name: none}
  env: [{name: NOTE, value: ${NOTE}}, {name: PATH, value: /somewhere}]
  secrets: [{name: key, key: value, targetEnvName: API_KEY}]
  volumes:
    - {name: read, hostPath: ${shared}/read, mountPath: /read, readOnly: true}
    - {name: write, hostPath: ${shared}/write, mountPath: /write}
`,
  );

const web = (args = '[]') =>
  program(
    'web',
    `  transport: streamable-http
  args: ${args}
  permissionProfile: {type: configmap, name: profile, key: profile.yaml}
`,
  );

const profile = (folders: string) => `apiVersion: v1
kind: ConfigMap
metadata: {name: profile}
data:
  profile.yaml: '{${folders}, network: {outbound: {insecure_allow_all: true}}}'
`;

async function look(name: string, args: { read?: string[]; write?: string[] } = {}): Promise<Record<string, unknown>> {
  const client = await connect(endpoint);
  try {
    const { structuredContent } = await client.callTool({ name: `${name}_look`, arguments: args });
    return structuredContent as Record<string, unknown>;
  } finally {
    await client.close();
  }
}

/** Names of the programs whose containers there are, running or not. */
async function running(): Promise<string[]> {
  const found = JSON.parse(await containers.podman(['ps', '--all', '--format', 'json'])) as { Labels: object }[];
  return found
    .flatMap(({ Labels }) =>
      Object.entries(Labels).flatMap(([label, name]) => (label === 'vmcp.dev/server' ? [String(name)] : [])),
    )
    .sort();
}

const isReady = async () => {
  const { phase, backends } = await place.status();
  return phase === 'Ready' && backends.every((one) => one.phase === 'Ready');
};

/** Argument lists of all processes of this machine. */
function commandLines(): string {
  const read = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(read)
    .join('\n');
}

beforeAll(async () => {
  containers = openContainers();
  await loadImage();
  shared = join(containers.folder, 'shared');
  for (const name of ['read', 'write']) {
    mkdirSync(join(shared, name), { recursive: true });
    writeFileSync(join(shared, name, 'file'), name);
  }
  place = makeWorkplace();
  const port = await findFreePort();
  endpoint = `http://127.0.0.1:${port}/mcp`;
  place.manifest('server.yaml', server('demo', port));
  place.manifest('key.yaml', secret('key', KEY));
  place.manifest('closed.yaml', closed());
  place.manifest(
    'open.yaml',
    program('open', '  transport: stdio\n  permissionProfile: {type: builtin, name: network}\n'),
  );
  place.manifest('web.yaml', web());
  place.manifest('profile.yaml', profile(`read: ["${shared}/read:/read"], write: ["${shared}/write:/write"]`));
  const { code, stderr } = await place.run(['up', 'manifests', '--detach'], containers.env);
  expect([code, stderr]).toEqual([0, '']);
  await eventually(isReady, Boolean);
}, 240_000);
afterAll(async () => {
  await place.run(['down'], containers.env);
  await place.close();
  await containers.close();
});

describeWithContainers('an image without a command, on one machine', () => {
  it('on standard input and output has no network where its profile says so, and one where it does not', async () => {
    expect((await look('closed')).interfaces).toEqual(['lo']);
    expect(await look('open')).toMatchObject({ interfaces: expect.arrayContaining(['eth0', 'lo']) as unknown });
  });

  it('has its variables and secrets, no value of which stands in an argument list, and no capability', async () => {
    expect(await look('closed')).toMatchObject({
      note: NOTE,
      path: '/somewhere',
      keyHash: createHash('sha256').update(KEY).digest('hex'),
      capabilities: '0000000000000000',
    });
    const lines = commandLines();
    expect(lines).toContain('vmcp.dev/server=mcp-closed');
    expect([lines.includes(KEY), lines.includes(NOTE)]).toEqual([false, false]);
  });

  it('reads what it is given to read, and writes only where it may: by volumes, and by a profile over HTTP', async () => {
    for (const name of ['closed', 'web']) {
      const seen = await look(name, { read: ['/read/file', '/etc/shadow'], write: ['/read/new', `/write/${name}`] });
      expect(seen).toMatchObject({ read: ['read', 'ENOENT'], write: ['EROFS', 'written'] });
      expect(readFileSync(join(shared, 'write', name), 'utf8')).toBe('written');
    }
    expect(existsSync(join(shared, 'read/new'))).toBe(false);
  });

  it('is another container when the ConfigMap of its profile changes', async () => {
    place.manifest('profile.yaml', profile(`read: ["${shared}/write:/other"]`));
    const seen = await eventually(
      () => look('web', { read: ['/other/file', '/read/file'] }).catch(() => ({ read: [] })),
      ({ read }) => (read as string[])[0] === 'write',
    );
    expect(seen).toMatchObject({ read: ['write', 'ENOENT'] });
    expect(await running()).toEqual(['mcp-closed', 'mcp-open', 'mcp-web']);
  });

  it('ends when it is stopped, also one that does not want to', async () => {
    place.manifest('web.yaml', web('[--stubborn]'));
    await eventually(running, (names) => names.filter((name) => name === 'mcp-web').length === 1);
    await eventually(isReady, Boolean);
    place.manifest('web.yaml', undefined);
    place.manifest('open.yaml', undefined);
    expect(await eventually(running, (names) => names.length === 1)).toEqual(['mcp-closed']);
    expect(await look('closed')).toMatchObject({ interfaces: ['lo'] });
  });

  it('is not left behind by a vmcp that was killed, once there is a next one, nor by the end of that', async () => {
    place.manifest('web.yaml', web('[--stubborn]'));
    await eventually(isReady, Boolean);
    const { pid } = JSON.parse(place.read('.vmcp/lock.json')) as { pid: number };
    const before = await containers.podman(['ps', '--quiet', '--filter', 'label=vmcp.dev/server=mcp-web']);
    process.kill(pid, 'SIGKILL');
    expect(await running()).toContain('mcp-web');
    const { code } = await place.run(['up', 'manifests', '--detach'], containers.env);
    expect(code).toBe(0);
    await eventually(isReady, Boolean);
    expect(await running()).toEqual(['mcp-closed', 'mcp-web']);
    expect(await containers.podman(['ps', '--quiet', '--filter', 'label=vmcp.dev/server=mcp-web'])).not.toBe(before);
    await place.run(['down'], containers.env);
    expect(await running()).toEqual([]);
  });
});
