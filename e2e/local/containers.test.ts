import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { packImages } from '../cluster/kit/pack-images.ts';
import { stageNode } from '../cluster/kit/stage-node.ts';
import { type Containers, describeWithContainers, openContainers } from '../containers/open-containers.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callApi } from '../management/use-api.ts';
import { connect } from './call-tool.ts';
import { secret, server } from './manifests.ts';
import { eventually, makeWorkplace, type Workplace } from './run-vmcp.ts';

const IMAGE = 'vmcp.test/look-around:1';
const HOSTILE = 'vmcp.test/hostile:1';
const KEY = randomBytes(12).toString('hex');
const NOTE = randomBytes(12).toString('hex');
const IN_FILE = randomBytes(12).toString('hex');
const SERVER = join(import.meta.dirname, 'testdata/look-around.ts');

let containers: Containers;
let place: Workplace;
let endpoint: string;
/** Folders of this machine that are mounted into the containers. */
let shared: string;
/** Ports of this machine that publish a container: on loopback only, and on all addresses. */
let published: { here: number; everywhere: number };

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

/**
 * Builds the same program into an image whose labels, annotations, volumes and ports ask for more than its MCPServer.
 */
async function makeHostile(): Promise<void> {
  const { buildah } = containers;
  const texts = {
    'io.containers.capabilities': 'SYS_ADMIN,NET_RAW',
    'io.podman.annotations.privileged': 'TRUE',
    'io.podman.annotations.seccomp': 'unconfined',
    run: 'podman run --privileged --volume /:/host IMAGE',
  };
  const asked = Object.entries(texts).flatMap(([name, text]) => [
    '--label',
    `${name}=${text}`,
    '--annotation',
    `${name}=${text}`,
  ]);
  const more = ['--volume', '/left', '--port', '9000', '--user', '0', '--env', 'HOME=/left'];
  await buildah(['from', '--pull-never', '--name', 'hostile', IMAGE]);
  await buildah(['config', ...asked, ...more, 'hostile']);
  await buildah(['commit', '--quiet', 'hostile', HOSTILE]);
}

function program(name: string, more: string, image = IMAGE): string {
  return `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: ${name}}
spec:
  groupRef: demo
  image: ${image}
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

const profile = (more: string) => `apiVersion: v1
kind: ConfigMap
metadata: {name: profile}
data:
  profile.yaml: '{${more}, network: {outbound: {insecure_allow_all: true}}}'
`;

const open = () =>
  program(
    'open',
    `  transport: stdio
  permissionProfile: {type: builtin, name: network}
  resources: {limits: {memory: 128Mi, cpu: 500m}}
`,
  );

/** Returns a program that takes more memory than its limit: on standard input and output, or over HTTP. */
const hungry = (name: string, transport: string) =>
  program(name, `  transport: ${transport}\n  args: [--hungry]\n  resources: {limits: {memory: 128Mi}}\n`);

/** Devices that every container has, and that are none of the machine's. */
const OF_EVERY_CONTAINER = [
  ...['console', 'core', 'fd', 'full', 'mqueue', 'null', 'ptmx', 'pts', 'random', 'shm'],
  ...['stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero'],
];

const told = () =>
  program(
    'told',
    `  publish: ['${published.here}:8080', '0.0.0.0:${published.everywhere}:8080']
  allowDockerGateway: true
  envFileDir: ${shared}/variables
  env: [{name: BOTH, value: of the manifest}]
`,
  );

/** The workloads in an answer of the management API. */
interface Listed {
  workloads: { name: string; status_context?: string }[];
}

type Wish = Partial<Record<'read' | 'write' | 'env' | 'fetch', string[]>>;

async function look(name: string, args: Wish = {}): Promise<Record<string, unknown>> {
  const client = await connect(endpoint);
  try {
    const { structuredContent } = await client.callTool({ name: `${name}_look`, arguments: args });
    return structuredContent as Record<string, unknown>;
  } finally {
    await client.close();
  }
}

/** Returns the names of the programs with containers, running or not. */
async function running(): Promise<string[]> {
  const found = JSON.parse(await containers.podman(['ps', '--all', '--format', 'json'])) as { Labels: object }[];
  return found
    .flatMap(({ Labels }) =>
      Object.entries(Labels).flatMap(([label, name]) => (label === 'vmcp.dev/server' ? [String(name)] : [])),
    )
    .sort();
}

/** Waits until exactly these programs are served. */
const served = (...names: string[]) =>
  eventually(
    () => place.glance(),
    (status) =>
      status?.phase === 'Ready' &&
      status.backends.every((one) => one.phase === 'Ready') &&
      status.backends
        .map(({ name }) => name)
        .sort()
        .join() === names.join(),
  );

/** Returns the engine's description of the container of a program. */
async function containerOf(name: string): Promise<unknown> {
  const label = `label=vmcp.dev/server=mcp-${name}`;
  const id = (await containers.podman(['ps', '--quiet', '--filter', label])).trim();
  return (JSON.parse(await containers.podman(['inspect', id])) as unknown[])[0];
}

/** Runs an HTTP server on this machine during `use`, which gets its port. */
async function withServer<T>(use: (port: number) => Promise<T>): Promise<T> {
  const listening = createServer((_request, response) => response.writeHead(204).end()).listen(0);
  try {
    return await use((listening.address() as AddressInfo).port);
  } finally {
    listening.close();
  }
}

/** Returns the external addresses of this machine. */
const outside = () =>
  Object.values(networkInterfaces()).flatMap((all = []) =>
    all.flatMap(({ internal, family, address }) => (internal || family !== 'IPv4' ? [] : [address])),
  );

/** Returns the argument lists of all processes of this machine. */
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

/** HOME in the workplace, so that its secrets are stored there, too. */
const environment = () => ({ ...containers.env, HOME: place.path });
const up = () => place.run(['up', 'manifests', '--detach'], environment());

beforeAll(async () => {
  containers = openContainers();
  await loadImage();
  await makeHostile();
  shared = join(containers.folder, 'shared');
  mkdirSync(join(shared, 'variables'), { recursive: true });
  writeFileSync(join(shared, 'variables/one.env'), `IN_FILE=${IN_FILE}\nBOTH=of a file\n`);
  writeFileSync(join(shared, 'variables/.hidden'), 'HIDDEN=1\n');
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
  place.manifest('open.yaml', open());
  published = { here: await findFreePort(), everywhere: await findFreePort() };
  place.manifest('told.yaml', told());
  place.manifest('hostile.yaml', program('hostile', '  transport: stdio\n', HOSTILE));
  place.manifest('web.yaml', web());
  place.manifest('profile.yaml', profile(`read: ["${shared}/read:/read"], write: ["${shared}/write:/write"]`));
  const { code, stderr } = await up();
  expect([code, stderr]).toEqual([0, '']);
  await served('closed', 'hostile', 'open', 'told', 'web');
}, 240_000);
afterAll(async () => {
  await place.run(['down'], environment());
  await place.close();
  await containers.close();
});

describeWithContainers('a container image without a command, on one machine,', () => {
  it('has no network if its profile says so, and otherwise one, on standard input and output', async () => {
    expect((await look('closed')).interfaces).toEqual(['lo']);
    expect(await look('open')).toMatchObject({ interfaces: expect.arrayContaining(['eth0', 'lo']) as unknown });
  });

  it('has its variables and secrets, no value in an argument list, and no capability', async () => {
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

  it('reads and writes only the folders of its volumes, or of its profile over HTTP', async () => {
    for (const name of ['closed', 'web']) {
      const seen = await look(name, { read: ['/read/file', '/etc/shadow'], write: ['/read/new', `/write/${name}`] });
      expect(seen).toMatchObject({ read: ['read', 'ENOENT'], write: ['EROFS', 'written'] });
      expect(readFileSync(join(shared, 'write', name), 'utf8')).toBe('written');
    }
    expect(existsSync(join(shared, 'read/new'))).toBe(false);
  });

  it('runs with its limits of memory and CPU', async () => {
    const files = ['memory/memory.limit_in_bytes', 'memory.max', 'cpu/cpu.cfs_quota_us', 'cpu.max'];
    const { read } = await look('open', { read: files.map((file) => `/sys/fs/cgroup/${file}`) });
    const [memory, quota] = (read as string[]).filter((text) => text !== 'ENOENT').map((text) => text.split(/\s/)[0]);
    expect([memory, quota]).toEqual([String(128 * 2 ** 20), '50000']);
  });

  it('ends when it exceeds its memory limit, with that reason in its status', async () => {
    const names = ['greedy', 'hungry'];
    place.manifest('greedy.yaml', hungry('greedy', 'stdio'));
    place.manifest('hungry.yaml', hungry('hungry', 'streamable-http'));
    const told = async () => {
      const { workloads } = (await (await callApi(place, 'GET', '/workloads?all=true')).json()) as Listed;
      return workloads.flatMap(({ name, status_context: text }) => (names.includes(name) ? [text] : []));
    };
    const why = 'exited with code 137: it was killed, as is what takes more memory than it may';
    await eventually(told, (texts) => texts.filter((text) => text?.includes(why)).length === names.length);
    for (const name of names) place.manifest(`${name}.yaml`, undefined);
    await served('closed', 'hostile', 'open', 'told', 'web');
  });

  it('becomes a new container when the ConfigMap of its profile changes, privileged if the profile says so', async () => {
    const before = await look('web');
    expect(before).toMatchObject({ capabilities: '0000000000000000', noNewPrivileges: '1' });
    const devices = ({ devices }: Record<string, unknown>) =>
      (devices as string[]).filter((name) => !OF_EVERY_CONTAINER.includes(name));
    expect(devices(before)).toEqual([]);
    place.manifest('profile.yaml', profile(`read: ["${shared}/write:/other"], privileged: true`));
    const seen = await eventually(
      () => look('web', { read: ['/other/file', '/read/file'] }).catch((): Record<string, unknown> => ({ read: [] })),
      ({ read }) => (read as string[])[0] === 'write',
    );
    expect(seen).toMatchObject({ read: ['write', 'ENOENT'], noNewPrivileges: '0' });
    expect(seen).not.toMatchObject({ capabilities: before.capabilities });
    expect(devices(seen)).not.toEqual([]);
    expect(await running()).toEqual(['mcp-closed', 'mcp-hostile', 'mcp-open', 'mcp-told', 'mcp-web']);
  });

  it('answers at its published ports, on this machine only if no address is written', async () => {
    const ask = (address: string, port: number) =>
      fetch(`http://${address}:${port}/`, { signal: AbortSignal.timeout(10_000) }).then(({ status }) => status);
    expect([await ask('127.0.0.1', published.here), await ask('127.0.0.1', published.everywhere)]).toEqual([405, 405]);
    const [address = ''] = outside();
    expect(await ask(address, published.everywhere)).toBe(405);
    await expect(ask(address, published.here)).rejects.toThrow();
  });

  it('reaches this machine by a host name', async () => {
    const seen = await withServer((port) => look('told', { fetch: [`http://host.docker.internal:${port}/`] }));
    expect(seen.fetch).toEqual([204]);
  });

  it('has the variables of its files, which are in no argument list, and its manifest overrides them', async () => {
    const { env } = await look('told', { env: ['IN_FILE', 'BOTH', 'HIDDEN'] });
    expect(env).toEqual([IN_FILE, 'of the manifest', null]);
    expect(commandLines()).not.toContain(IN_FILE);
  });

  it('gets nothing by labels, annotations, volumes and ports of its image', async () => {
    expect(await look('hostile', { read: ['/host/etc/hostname'] })).toMatchObject({
      capabilities: '0000000000000000',
      noNewPrivileges: '1',
      read: ['ENOENT'],
    });
    expect(await containerOf('hostile')).toMatchObject({
      // The image's volume is an anonymous one, which is deleted with the container.
      Mounts: [{ Type: 'volume', Destination: '/left', Source: expect.stringContaining(containers.folder) as unknown }],
      HostConfig: { Privileged: false, CapAdd: [], Binds: expect.any(Array) as unknown, PortBindings: {} },
      NetworkSettings: { Ports: { '9000/tcp': null } },
    });
  });

  it('has the folders, network and variables of its record, if the management API makes it', async () => {
    const record = {
      name: 'made',
      image: IMAGE,
      group: 'demo',
      transport: 'stdio',
      env_vars: { NOTE },
      volumes: [`${shared}/read:/read:ro`],
      permission_profile: { write: [`${shared}/write:/write`], network: { mode: 'none' } },
    };
    const made = await callApi(place, 'POST', '/workloads', record);
    expect([made.status, await made.text()]).toEqual([201, expect.stringContaining('made')]);
    const seen = await eventually(
      () => look('made', { read: ['/read/file'], write: ['/read/new', '/write/made'] }).catch(() => undefined),
      (one) => one !== undefined,
    );
    expect(seen).toMatchObject({ note: NOTE, interfaces: ['lo'], read: ['read'], write: ['EROFS', 'written'] });
    expect((await callApi(place, 'DELETE', '/workloads/made')).status).toBe(204);
    await eventually(running, (names) => !names.includes('mcp-made'));
  });

  it('starts by one command, with its secret and arguments, and another command removes it', async () => {
    writeFileSync(join(place.path, 'key'), `${KEY}\n`);
    const values = ['--env', `NOTE=${NOTE}`, '--secret', 'API_KEY=@key'];
    const run = ['run', IMAGE, '--name', 'fresh', '--transport', 'stdio', ...values];
    expect((await place.run([...run, '--', '--stubborn'], environment())).code).toBe(0);
    const keyHash = createHash('sha256').update(KEY).digest('hex');
    const seen = await eventually(
      () => look('fresh').catch(() => undefined),
      (one) => one !== undefined,
    );
    expect(seen).toMatchObject({ note: NOTE, keyHash, capabilities: '0000000000000000' });
    expect(commandLines()).not.toContain(KEY);
    expect((await place.run(['rm', 'fresh', '--yes'], environment())).code).toBe(0);
    expect(await eventually(running, (names) => !names.includes('mcp-fresh'))).not.toContain('mcp-fresh');
  });

  it('ends when it is stopped, even if it ignores the signal', async () => {
    place.manifest('web.yaml', web('[--stubborn]'));
    await eventually(running, (names) => names.filter((name) => name === 'mcp-web').length === 1);
    await served('closed', 'hostile', 'open', 'told', 'web');
    for (const name of ['web', 'open', 'told']) place.manifest(`${name}.yaml`, undefined);
    const left = ['mcp-closed', 'mcp-hostile'];
    expect(await eventually(running, (names) => names.length === left.length)).toEqual(left);
    expect(await look('closed')).toMatchObject({ interfaces: ['lo'] });
  });

  it('ends at the next start after vmcp was killed, and with the end of that', async () => {
    place.manifest('web.yaml', web('[--stubborn]'));
    await served('closed', 'hostile', 'web');
    const { pid } = JSON.parse(place.read('.vmcp/lock.json')) as { pid: number };
    const before = await containers.podman(['ps', '--quiet', '--filter', 'label=vmcp.dev/server=mcp-web']);
    process.kill(pid, 'SIGKILL');
    expect(await running()).toContain('mcp-web');
    expect((await up()).code).toBe(0);
    await served('closed', 'hostile', 'web');
    expect(await running()).toEqual(['mcp-closed', 'mcp-hostile', 'mcp-web']);
    expect(await containers.podman(['ps', '--quiet', '--filter', 'label=vmcp.dev/server=mcp-web'])).not.toBe(before);
    await place.run(['down'], environment());
    expect(await running()).toEqual([]);
    expect(await containers.podman(['volume', 'ls', '--quiet'])).toBe('');
  });
});
