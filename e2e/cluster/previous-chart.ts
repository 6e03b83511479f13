import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const DEADLINE_MS = 30_000;
/** Path of the chart in the repository of a version. */
const PLACE = 'charts/vmcp';

const run = (program: string, args: readonly string[]) =>
  execFileSync(program, args, { encoding: 'utf8', timeout: DEADLINE_MS, stdio: ['ignore', 'pipe', 'pipe'] });

/**
 * Returns the nearest `v*` tag behind the checkout. It skips a tag of the same commit, whose upgrade would change
 * nothing.
 */
function lastTag(repository: string): string | undefined {
  const git = (...args: string[]) => run('git', ['-C', repository, ...args]).trim();
  const before = git('tag', '--list', 'v*', '--merged', 'HEAD', '--no-contains', 'HEAD', '--sort=-version:refname');
  const tags = before.split('\n').filter((tag) => tag !== '');
  return tags.find((tag) => git('ls-tree', '--name-only', tag, PLACE) === PLACE);
}

/**
 * Returns the folder of the chart that an upgrade starts from: that of the last `v*` tag, unpacked below `folder`.
 * Without a tagged version, or in an unpacked archive without history, it is `fixture`.
 */
export function findPreviousChart(repository: string, folder: string, fixture: string): string {
  if (!existsSync(join(repository, '.git'))) return fixture;
  const tag = lastTag(repository);
  if (tag === undefined) return fixture;
  const place = join(folder, tag);
  mkdirSync(place, { recursive: true });
  const archive = join(folder, `${tag}.tar`);
  run('git', ['-C', repository, 'archive', '--format=tar', `--output=${archive}`, tag, PLACE]);
  run('tar', ['-xf', archive, '-C', place]);
  return join(place, PLACE);
}
