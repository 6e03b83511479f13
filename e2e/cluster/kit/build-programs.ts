import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { z } from 'zod';
import { run, runProgram } from '../run-program.ts';
import { isInstalled } from '../../redis/is-installed.ts';
import { missingPackages } from './missing.ts';
import type { ClusterFolders } from './cluster-folders.ts';
import { chooseVersion, type KubernetesVersion, moduleVersion, USUAL } from './versions.ts';

const SOURCES = ['go.mod', 'go.sum', 'main.go'];
const sourcesOf = (name: string) => (name === USUAL ? [...SOURCES, 'pause/main.go'] : SOURCES);
/** Go as a module of the proxy, for installed releases that are too old to fetch it. */
const TOOLCHAIN = 'v0.0.1-go1.26.7';
const MINUTES = 60_000;
const TELL_EVERY_MS = 15_000;

export type Tell = (line: string) => void;

/** Installs missing Debian packages, and Go if programs must be built. Services of the packages stay off. */
export async function installPackages(places: ClusterFolders, tell: Tell): Promise<void> {
  const packages = [
    ...missingPackages(),
    ...(isInstalled('go') || buildsOf(places).every(isBuilt) ? [] : ['golang-go']),
  ];
  if (packages.length === 0) return;
  tell(`installing ${packages.join(' ')}`);
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const how = { deadline: 10 * MINUTES, env: { DEBIAN_FRONTEND: 'noninteractive' } };
    await run('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', 'update'], how);
    const install = ['-qq', '-o', 'DPkg::Lock::Timeout=300', 'install', '-y', '--no-install-recommends'];
    await run('apt-get', [...install, ...packages], how);
  } finally {
    if (ours) rmSync(policy);
  }
}

/**
 * Returns the path of Go. From 1.21 on, Go fetches the version in go.mod itself; for an older one, Go is fetched as a
 * module.
 */
export async function findGo(): Promise<string> {
  const { stdout } = await runProgram('go', ['env', 'GOVERSION'], { deadline: 10_000 });
  const [, minor = '0'] = /^go1\.(\d+)/.exec(stdout) ?? [];
  if (Number(minor) >= 21) return 'go';
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const module = `golang.org/toolchain@${TOOLCHAIN}.${platform}`;
  const answer = await run('go', ['mod', 'download', '-json', module], { deadline: 5 * MINUTES });
  const { Dir } = z.object({ Dir: z.string() }).parse(JSON.parse(answer));
  // A module holds no executable files.
  for (const folder of ['bin', `pkg/tool/${platform.replace('-', '_')}`]) {
    for (const name of readdirSync(join(Dir, folder))) chmodSync(join(Dir, folder, name), 0o755);
  }
  return join(Dir, 'bin/go');
}

/** Returns the flags that set the version of the programs. */
function linkerFlags({ release, source, name }: KubernetesVersion): string {
  const [major = '', minor = ''] = release.slice(1).split('.');
  const base = 'k8s.io/component-base/version';
  const values = {
    [`${base}.gitVersion`]: release,
    [`${base}.gitMajor`]: major,
    [`${base}.gitMinor`]: minor,
    ...(name === USUAL ? { 'helm.sh/helm/v4/internal/version.version': moduleVersion(source, 'helm.sh/helm/v4') } : {}),
  };
  return ['-s -w', ...Object.entries(values).map(([variable, value]) => `-X ${variable}=${value}`)].join(' ');
}

/** Runs `go build`, which prints each package that it compiles, and reports progress now and then. */
async function goBuild(go: string, cwd: string, args: readonly string[], tell: Tell): Promise<void> {
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '' };
  const child = spawn(go, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 40 * MINUTES });
  let compiled = 0;
  const last: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) compiled += 1;
    last.push(line);
    if (last.length > 20) last.shift();
  });
  const timer = setInterval(() => tell(`building, ${compiled} packages compiled`), TELL_EVERY_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearInterval(timer));
  if (code !== 0) throw new Error(`go build ended with ${code}:\n${last.join('\n')}`);
}

function hashOfSources({ source, name }: KubernetesVersion): string {
  const hash = createHash('sha256');
  for (const file of sourcesOf(name)) hash.update(readFileSync(join(source, file)));
  return hash.digest('hex');
}

/** A release, and the folder of its programs. */
type Build = readonly [version: KubernetesVersion, bin: string];

/** Returns the builds of a release: first the shared programs, then its own. */
function buildsOf({ kubernetes, bin, sharedBin }: ClusterFolders): Build[] {
  const usual: Build = [chooseVersion(undefined), sharedBin];
  return kubernetes.name === USUAL ? [usual] : [usual, [kubernetes, bin]];
}

/** Returns whether the programs exist and match the current go.mod and sources. */
function isBuilt([version, bin]: Build): boolean {
  const stamp = join(bin, 'stamp');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hashOfSources(version);
}

/** Builds Kubernetes, etcd, CoreDNS, kubectl, helm and the pause program, unless they exist. */
export async function buildPrograms(places: ClusterFolders, tell: Tell): Promise<void> {
  for (const build of buildsOf(places)) if (!isBuilt(build)) await buildRelease(build, places, tell);
}

async function buildRelease([version, bin]: Build, { sharedBin }: ClusterFolders, tell: Tell): Promise<void> {
  mkdirSync(bin, { recursive: true });
  const go = await findGo();
  tell(`building Kubernetes ${version.release}: with empty caches that takes ten minutes`);
  const flags = ['-v', '-trimpath', '-buildvcs=false', '-ldflags', linkerFlags(version)];
  // Go names the program of a single package after its folder.
  const [to, packages] = version.name === USUAL ? [`${bin}/`, ['.', './pause', 'tool']] : [join(bin, 'kube'), ['.']];
  await goBuild(go, version.source, ['build', ...flags, '-o', to, ...packages], tell);
  link('kube', join(bin, 'kubectl'));
  if (bin !== sharedBin) link(join(sharedBin, 'helm'), join(bin, 'helm'));
  writeFileSync(join(bin, 'stamp'), hashOfSources(version));
}

function link(to: string, path: string): void {
  rmSync(path, { force: true });
  symlinkSync(to, path);
}
