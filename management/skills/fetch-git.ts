import { lookup as systemLookup } from 'node:dns';
import { mkdir, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { publicLookup } from '#lib/connections/public-lookup';
import { isProxied, type ProxySettings } from '#lib/connections/proxy';
import { checkTarget } from '../fetching/check-target.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { Problem } from '../problem.ts';
import { extractTar } from './extract-tar.ts';
import { type GitSettings, readGit, runGit } from './run-git.ts';
import { unusable } from './skill-limits.ts';
import { type SkillReference, writeReference } from './skill-reference.ts';
import { type FetchedSkill, type FetchRequest, PRIVATE_REMEDY } from './skill-source.ts';
import { watchSize } from './watch-size.ts';

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
