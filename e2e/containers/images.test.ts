import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { type Program, startProgram } from '../gateway/start-program.ts';
import { SessionClient } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { buildImages, loadBase, nameOf, REVISION, VERSION } from './build-images.ts';
import { type Containers, describeWithContainers, openContainers } from './open-containers.ts';

const IMAGES = ['operator', 'runtime'] as const;
/** Both programs return memory to the system. The runtime keeps small buffers, because calls would wait for new ones. */
const MALLOC_SETTINGS = {
  operator: ['MALLOC_ARENA_MAX=2', 'MALLOC_MMAP_THRESHOLD_=131072', 'MALLOC_TRIM_THRESHOLD_=131072'],
  runtime: ['MALLOC_ARENA_MAX=2', 'MALLOC_MMAP_THRESHOLD_=1048576', 'MALLOC_TRIM_THRESHOLD_=8388608'],
};
const SECRET = randomBytes(16).toString('hex');
/** Options that remove rights no process of a workload needs, and make the image's files read-only. */
const CONFINED = ['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

interface Settings {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  StopSignal: string;
  Labels: Record<string, string>;
}

let containers: Containers;
let base: string;

beforeAll(async () => {
  containers = openContainers();
  base = await loadBase(containers);
  process.env.VMCP_SECRET_OF_THE_BUILD = SECRET;
  try {
    await buildImages(containers, SECRET);
  } finally {
    delete process.env.VMCP_SECRET_OF_THE_BUILD;
  }
}, 600_000);
afterAll(() => containers.close());

async function settingsOf(image: (typeof IMAGES)[number]): Promise<Settings> {
  const [found] = JSON.parse(await containers.podman(['image', 'inspect', nameOf(image)])) as { Config: Settings }[];
  return found!.Config;
}

/** Mounts the files of an image while the callback runs. */
async function withFiles<T>(image: (typeof IMAGES)[number], look: (root: string) => T): Promise<T> {
  const root = (await containers.podman(['image', 'mount', nameOf(image)])).trim();
  try {
    return look(root);
  } finally {
    await containers.podman(['image', 'unmount', nameOf(image)]);
  }
}

/** Returns the paths of all files and links, without folders. */
function filesBelow(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length))
    .sort();
}

async function callsInFlight(privatePort: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${privatePort}/metrics`, { signal: AbortSignal.timeout(5000) });
  return Number(/^vmcp_requests_running (\d+)$/m.exec(await answer.text())?.[1] ?? 0);
}

describeWithContainers('the images that the Dockerfiles build', () => {
  it.each([
    ['operator', '/app/dist/operator.js', '/work'],
    ['runtime', '/app/runtime.js', '/app'],
  ] as const)('name the program, start command and user of the %s', async (image, program, folder) => {
    const settings = await settingsOf(image);
    expect(settings).toMatchObject({ User: '65532:65532', StopSignal: 'SIGTERM', WorkingDir: folder });
    expect([settings.Entrypoint[0], settings.Entrypoint.at(-1)]).toEqual(['node', program]);
    const [path, ...env] = settings.Env;
    expect(path).toMatch(/^PATH=/);
    const ofMalloc = env.filter((entry) => entry.startsWith('MALLOC_'));
    expect(env).toEqual(['NODE_ENV=production', ...ofMalloc]);
    expect(ofMalloc).toEqual(MALLOC_SETTINGS[image]);
    expect(settings.Labels).toMatchObject({
      'org.opencontainers.image.title': `vmcp-${image}`,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': VERSION,
      'org.opencontainers.image.revision': REVISION,
    });
  });

  it.each(IMAGES)('hold only the base and programs of the %s, and its user cannot change them', async (image) => {
    const [added, writable] = await withFiles(image, (root) => {
      const before = new Set(filesBelow(base));
      const own = filesBelow(root).filter((path) => !before.has(path));
      const others = own.filter((path) => {
        const { uid, mode } = lstatSync(join(root, path));
        return uid !== 0 || (mode & 0o022) !== 0;
      });
      return [own, others];
    });
    const [dist, others] = image === 'operator' ? ['/app/dist', ['operator', 'management', 'vmcp']] : ['/app', []];
    for (const program of [...others, 'runtime', 'attach']) expect(added).toContain(`${dist}/${program}.js`);
    const cedar = /^\/app\/node_modules\/@cedar-policy\/cedar-wasm\/(package\.json|nodejs\/[\w.-]+)$/;
    const foreign = added.filter(
      (path) =>
        !['/app/package.json', '/app/LICENSE'].includes(path) &&
        !cedar.test(path) &&
        !(path.startsWith(`${dist}/`) && /^[\w-]+\.js(\.LEGAL\.txt)?$/.test(path.slice(dist.length + 1))),
    );
    expect([foreign, writable]).toEqual([[], []]);
    if (image === 'runtime') expect(added.filter((path) => /\/(operator|management|vmcp)\.js$/.test(path))).toEqual([]);
  });

  it.each(IMAGES)('hold no setting or password of the build of the %s', async (image) => {
    const said = await containers.podman(['image', 'inspect', nameOf(image)]);
    expect(said + (await containers.podman(['history', '--no-trunc', nameOf(image)]))).not.toContain(SECRET);
    const found = await withFiles(image, (root) =>
      filesBelow(root).filter((path) => {
        const file = join(root, path);
        return lstatSync(file).isFile() && (path.endsWith('npmrc') || readFileSync(file).includes(SECRET));
      }),
    );
    expect(found.filter((path) => !path.startsWith('/usr/local/lib/node_modules/npm/'))).toEqual([]);
  });

  it("run the operator's programs without rights, network or a writable folder", async () => {
    const runs = (...args: string[]) => containers.podman(['run', '--rm', '--network', 'none', ...CONFINED, ...args]);
    expect(await runs(nameOf('operator'))).toContain('vmcp-operator');
    const management = ['--entrypoint', 'node', nameOf('operator'), '/app/dist/management.js', '--help'];
    expect(await runs(...management)).toContain('vmcp-management');
    expect(await runs('--entrypoint', 'node', nameOf('operator'), '/app/dist/vmcp.js', 'version')).toContain('0.1.0');
    const quickstart = `${join(import.meta.dirname, '../../examples/quickstart')}:/work:ro`;
    const validate = ['--entrypoint', 'node', '--volume', quickstart, nameOf('operator'), '/app/dist/vmcp.js'];
    expect(await runs(...validate, 'validate', '.')).toMatch(/valid/);
  });

  it('serve calls without rights or a writable folder, and finish running calls at SIGTERM', async () => {
    const backend = await serveMisbehaving('slow', { tools: 1, delayMs: 2000 });
    const [port, privatePort] = [await findFreePort(), await findFreePort()];
    const folder = join(containers.folder, 'config');
    mkdirSync(folder);
    const document = {
      schema_version: 'v0.1.0',
      server: { namespace: 'e2e', name: 'image', uid: 'e2e' },
      listen: { host: '127.0.0.1', port, private_host: '127.0.0.1', private_port: privatePort },
      incoming: { type: 'anonymous' },
      backends: [{ name: 'slow', transport: 'streamable-http', url: backend.url, auth: { type: 'unauthenticated' } }],
    };
    writeFileSync(join(folder, 'run-config.yaml'), JSON.stringify(document));
    const where = ['--name', 'served', '--network', 'host', '--volume', `${folder}:/etc/vmcp/config:ro`];
    const runtime: Program = startProgram('podman', ['run', '--rm', ...CONFINED, ...where, nameOf('runtime')], {
      ...process.env,
      ...containers.env,
    });
    try {
      await until(
        'the runtime',
        () => runtime.output().includes('"message":"ready"'),
        () => runtime.exited(),
      );
      const client = await SessionClient.open(`http://127.0.0.1:${port}/mcp`);
      expect(await client.toolNames()).toEqual(['slow_tool_0']);
      expect(await containers.podman(['exec', 'served', 'id', '-u'])).toBe('65532\n');
      const call = client.call('slow_tool_0', { text: 'in flight' });
      await until(
        'the call',
        async () => (await callsInFlight(privatePort)) > 0,
        () => runtime.exited(),
      );
      await containers.podman(['kill', '--signal', 'TERM', 'served']);
      expect((await call).answer.result).toBeDefined();
      expect(await runtime.ended).toBe(0);
    } finally {
      await runtime.stop();
      await backend.close();
    }
  });
});
