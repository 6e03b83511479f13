import { lookup as systemLookup } from 'node:dns';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { publicLookup } from '#lib/connections/public-lookup';
import { isProxied, type ProxySettings } from '#lib/connections/proxy';
import { checkTarget } from '../fetching/check-target.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { Problem } from '../problem.ts';
import { extractTar } from './extract-tar.ts';
import { type GitSettings, readGit, runGit } from './run-git.ts';
import { type Space, unusable } from './skill-limits.ts';
import { type SkillReference, writeReference } from './skill-reference.ts';
import { type FetchedSkill, type FetchRequest, PRIVATE_REMEDY } from './skill-source.ts';

type GitReference = Extract<SkillReference, { kind: 'git' }>;

const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** Reads an archive instead of a checkout, so that no filter of the repository runs. @throws Problem, FetchFailure */
export async function fetchGit(reference: GitReference, request: FetchRequest): Promise<FetchedSkill> {
  const { rules, into, space, signal } = request;
  const { url, path } = reference;
  const reach = await howToReach(url, request);
  const repository = `${into}.git`;
  await mkdir(repository, { mode: 0o700 });
  const settings = (untilThen: AbortSignal): GitSettings => ({
    searchPath: rules.searchPath,
    home: repository,
    protocols: [new URL(url).protocol.slice(0, -1)],
    proxy: proxyVariables(rules.proxy),
    signal: untilThen,
  });
  try {
    const commit = await watchSize({ folder: repository, space, signal }, (untilThen) =>
      fetchCommit(reference, reach, settings(untilThen)),
    );
    const tree = path === undefined ? commit : `${commit}:${path}`;
    await readGit(['archive', '--format=tar', tree], settings(signal), (tar) =>
      extractTar(tar as AsyncIterable<Buffer>, into, { signal, space }),
    );
    return {
      reference: writeReference({ ...reference, ref: commit }),
      tag: reference.ref,
      digest: undefined,
      directory: path?.split('/').at(-1),
    };
  } finally {
    await rm(repository, { recursive: true, force: true });
  }
}

async function fetchCommit(
  { url, ref = 'HEAD' }: GitReference,
  reach: readonly string[],
  settings: GitSettings,
): Promise<string> {
  if (reach.length > 0) checkVersion(await runGit(['version'], settings));
  await runGit(['init', '--quiet', '--bare', '--template=', '.'], settings);
  const options = ['--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--no-write-commit-graph'];
  await runGit([...reach, 'fetch', ...options, '--end-of-options', url, ref], settings);
  const commit = await runGit(['rev-parse', '--verify', '--quiet', 'FETCH_HEAD^{commit}'], settings);
  if (COMMIT.test(ref) && commit !== ref) throw unusable(`the repository gave the commit ${commit} for ${ref}`);
  return commit;
}

/** Rejects older versions: they ignore the addresses to which they are bound. @throws FetchFailure `refused` */
function checkVersion(said: string): void {
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(said)?.map(Number) ?? [];
  if (major > 2 || (major === 2 && minor >= 37)) return;
  const remedy = 'update it, name an OCI artifact, or set allow_private_ip';
  throw new FetchFailure('refused', `git is older than 2.37, so its addresses cannot be checked: ${remedy}`);
}

/** Binds git to the checked addresses, because it resolves the name again. @throws FetchFailure `refused` */
async function howToReach(url: string, { rules, allowPrivateAddress }: FetchRequest): Promise<string[]> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'file:') {
    if (!rules.localPaths)
      throw new Problem('path_not_available', 'name: in a cluster a skill comes as an archive or by a reference');
    return [];
  }
  await checkTarget(url, { allowPrivateAddress, remedy: PRIVATE_REMEDY });
  if (allowPrivateAddress) return [];
  if (isProxied(rules.proxy))
    throw new FetchFailure(
      'refused',
      'behind a proxy the address of a repository cannot be checked; name an OCI artifact, or set allow_private_ip',
    );
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return [];
  const addresses = await resolvePublic(host, rules.lookup ?? systemLookup);
  const bound = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return ['-c', `http.curloptResolve=${host}:${port === '' ? '443' : port}:${bound}`];
}

function resolvePublic(host: string, lookup: typeof systemLookup): Promise<string[]> {
  return new Promise((resolve, reject) => {
    publicLookup(lookup)(host, { all: true }, (error, found) => {
      if (error) reject(new FetchFailure('refused', `${host} is not known, or at a private address`, { cause: error }));
      else resolve(Array.isArray(found) ? found.map(({ address }) => address) : [found]);
    });
  });
}

function proxyVariables(proxy: ProxySettings | undefined): Record<string, string> {
  const { httpProxy, httpsProxy, noProxy } = proxy ?? {};
  return {
    ...(httpProxy !== undefined && { http_proxy: httpProxy }),
    ...(httpsProxy !== undefined && { https_proxy: httpsProxy }),
    ...(noProxy !== undefined && { no_proxy: noProxy }),
  };
}

/** Milliseconds between two checks. */
const PAUSE = 200;

interface Watched {
  folder: string;
  space: Space;
  signal: AbortSignal;
}

/** Aborts another program's work when it has written too much. @throws Problem `bad_request`, or what `work` throws */
async function watchSize<T>({ folder, space, signal }: Watched, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const grown = new AbortController();
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    if ((await sizeOf(folder)) > space.left) grown.abort();
    looking = false;
  };
  const timer = setInterval(() => void look(), PAUSE);
  try {
    const done = await work(AbortSignal.any([signal, grown.signal]));
    if ((await sizeOf(folder)) > space.left) throw space.exceeded();
    return done;
  } catch (error) {
    throw grown.signal.aborted ? space.exceeded() : error;
  } finally {
    clearInterval(timer);
  }
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []))
    if (entry.isFile())
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      );
  return bytes;
}
