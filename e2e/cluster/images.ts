import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Image, packImages } from './kit/pack-images.ts';
import { readDockerfile } from './kit/read-dockerfile.ts';
import { copyWithLibraries, stageNode } from './kit/stage-node.ts';
import { stagePackages } from './kit/stage-packages.ts';
import { run } from './run-program.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Registry in the names of all test images; nothing is pulled from it. */
export const REGISTRY = 'vmcp.test';
export const TAG = 'e2e';
/** Suffix of the tag of the previous version's image. */
const FORMER = '-former';
const named = (name: string) => `${REGISTRY}/${name}:${TAG}`;

/** Image names for the manifests of the suites. */
export const IMAGES = {
  operator: named('vmcp-operator'),
  runtime: named('vmcp-runtime'),
  /** The same image under the name of the previous version, so that an upgrade replaces the pods. */
  formerRuntime: `${named('vmcp-runtime')}${FORMER}`,
  /** MCP servers and identity providers: the repository's fakes, and those of npm that the quickstart has. */
  backends: named('vmcp-backends'),
} as const;

/** The name that nodes derive from the quickstart's manifests, for the same image. */
const QUICKSTART = 'docker.io/library/vmcp-quickstart:1';

/** Packages that the quickstart's commands start, and dependencies of the fakes. */
const PACKAGES = [
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/server-everything',
  '@modelcontextprotocol/server-memory',
  '@modelcontextprotocol/server-filesystem',
  'jose',
  'oidc-provider',
  'zod',
];

const REDIS = '/usr/bin/redis-server';

/** The program with which pods call an endpoint. */
const CLIENT = 'e2e/gateway/session-client.ts';

/** Stages the files and settings of one of the project's images, as its Dockerfile says. */
async function stageProgram(program: 'operator' | 'runtime', base: string, folder: string): Promise<Image> {
  const { stage, config } = readDockerfile(join(ROOT, program, 'Dockerfile'));
  mkdirSync(folder);
  await run('sh', ['-euc', stage.replaceAll('/out', folder)], { cwd: ROOT });
  return { name: IMAGES[program], layers: [{ folder: base }, { folder, at: '/app' }], config };
}

/** Stages a part of the repository, so that commands with relative paths run as in a checkout. */
function stageBackends(base: string, folder: string): Image {
  mkdirSync(folder);
  for (const path of ['package.json', 'e2e/fakes', CLIENT, 'examples/quickstart/on-host']) {
    const filter = (source: string) => !source.endsWith('.test.ts');
    cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter });
  }
  mkdirSync(join(folder, 'examples/quickstart/files'), { recursive: true });
  stagePackages(ROOT, PACKAGES, folder);
  // Redis of this machine, for servers with several replicas.
  const redis = `${folder}-redis`;
  if (existsSync(REDIS)) copyWithLibraries(REDIS, REDIS, redis);
  const config = {
    Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_ENV=production'],
    User: '65532:65532',
    WorkingDir: '/app/examples/quickstart',
  };
  const layers = [{ folder: base }, { folder, at: '/app' }];
  return { name: IMAGES.backends, layers: existsSync(redis) ? [...layers, { folder: redis }] : layers, config };
}

/** Throws without the build output for images, before the minutes of building a cluster. */
export function checkBuilt(): void {
  if (!existsSync(join(ROOT, 'dist/runtime.js'))) throw new Error('dist/ is not built: npm run build');
}

/** Packs all test images from the existing dist/ into one archive. Takes some seconds. */
export async function packAll(archive: string): Promise<void> {
  checkBuilt();
  const work = mkdtempSync(join(tmpdir(), 'vmcp-stage-'));
  try {
    const base = join(work, 'node');
    stageNode(base);
    const backends = stageBackends(base, join(work, 'backends'));
    const runtime = await stageProgram('runtime', base, join(work, 'runtime'));
    packImages(archive, [
      await stageProgram('operator', base, join(work, 'operator')),
      runtime,
      { ...runtime, name: IMAGES.formerRuntime },
      backends,
      { ...backends, name: QUICKSTART },
    ]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
