import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packImages } from '../cluster/kit/pack-images.ts';
import { run } from '../cluster/run-program.ts';
import type { Containers } from './open-containers.ts';
import { stageBase } from './stage-base.ts';

const ROOT = join(import.meta.dirname, '../..');
const BASE = 'vmcp.test/node:base';
const BUILD_MS = 300_000;

export const REVISION = 'a1b2c3d4';
export const VERSION = '9.8.7';
export const nameOf = (image: 'operator' | 'runtime') => `vmcp.test/vmcp-${image}:built`;

/** Returns npm's settings and cache of this machine as mounts `[from, to]`, for the build only. */
async function npmOf(folder: string, secret: string): Promise<[string, string][]> {
  const names = ['userconfig', 'globalconfig', 'cafile', 'cache'];
  const said = (await run('npm', ['config', 'get', ...names])).split('\n');
  const [userConfig, globalConfig, authorities, cache] = names.map((name) =>
    said.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1),
  );
  const settings = [globalConfig, userConfig].flatMap((file) =>
    file !== undefined && existsSync(file) ? [readFileSync(file, 'utf8')] : [],
  );
  const file = join(folder, 'npmrc');
  const own = ['prefer-offline=true', 'cache=/npm-cache', `//npm.example.test/:_authToken=${secret}`];
  writeFileSync(file, [...settings, ...own, ''].join('\n'), { mode: 0o600 });
  const mounted: [string, string][] = [
    [file, '/root/.npmrc:ro'],
    [cache ?? '', '/npm-cache'],
  ];
  if (authorities !== undefined && existsSync(authorities)) mounted.push([authorities, `${authorities}:ro`]);
  return mounted;
}

/** Loads an image with Node and npm. Returns the folder with its files. */
export async function loadBase({ folder, load }: Containers): Promise<string> {
  const base = join(folder, 'base');
  await stageBase(base);
  const archive = join(folder, 'base.tar');
  const config = { Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'] };
  packImages(archive, [{ name: BASE, layers: [{ folder: base }], config }]);
  await load(archive);
  return base;
}

/**
 * Builds both images from their Dockerfiles on that base. Packages come from this machine's npm registry and cache. The npm settings and
 * the environment of the build contain `secret`.
 */
export async function buildImages({ buildah, folder }: Containers, secret: string): Promise<void> {
  // A bind mount, because buildah would compare and store all these files if they were in a layer.
  const packages = join(folder, 'packages');
  mkdirSync(packages);
  const outside: [string, string][] = [...(await npmOf(folder, secret)), [packages, '/src/node_modules']];
  const mounted = outside.flatMap(([from, to]) => ['--volume', `${from}:${to}`]);
  const values = { NODE_IMAGE: BASE, REVISION, VERSION };
  const args = Object.entries(values).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  // Builds one after the other, so that both share their first layers.
  for (const image of ['operator', 'runtime'] as const) {
    const how = ['--layers', '--isolation', 'chroot', '--network', 'host', '--pull-never'];
    const what = ['--file', `${image}/Dockerfile`, '--tag', nameOf(image), '.'];
    await buildah(['build', ...how, ...mounted, ...args, ...what], { cwd: ROOT, deadline: BUILD_MS });
  }
}
