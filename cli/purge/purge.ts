import { keyPrefixOf } from '#operator/plan/render-run-config';
import { openKeys, RedisFailure, type RedisKeys } from '#cli/storage/redis-keys';
import { UnusableRedisSettings } from '#lib/connections/redis-options';
import { confirm } from '../confirm.ts';
import type { Context, Format } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { isCluster, type TargetOptions } from '../management/target.ts';
import { readGiven } from '../read-given.ts';
import { type Listing, printRecords, tableOf } from '../print-records.ts';
import { checkOptions, chooseKeys, hostOf, type ChosenKeys, type RedisOptions } from './choose-keys.ts';
import { kindOfKey } from './own-keys.ts';
import { type Amount, type Neighbour, readServer, type ServerKey, shownServer, type Stored } from './stored.ts';
import { placeText } from './find-written-keys.ts';

export interface PurgeOptions extends TargetOptions, RedisOptions {
  force: boolean;
  dryRun: boolean;
  yes: boolean;
  output: Format;
  /** Milliseconds. */
  timeout: number;
}

const AMOUNTS: Listing<Amount> = {
  columns: ['WHERE', 'WHAT', 'COUNT'],
  row: ({ where, what, count }) => [where, what, String(count)],
  name: ({ what }) => what,
  none: () => 'nothing is stored',
};

interface OpenKeys {
  place: ChosenKeys;
  keys: RedisKeys;
  /** Longer prefixes of other servers. */
  others: readonly string[];
}

/** Bytes. Certificate bundles are long. */
const LONGEST_FILE = 1_048_576;

const REFUSED = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM']);

function explained(problem: unknown, { shown, config }: ChosenKeys, remedy: (host: string) => string): unknown {
  if (problem instanceof UnusableRedisSettings)
    return new CliError(EXIT_CODES.usage, problem.message, { cause: problem });
  if (!(problem instanceof RedisFailure)) return problem;
  const { word, message } = problem;
  if (word === undefined) {
    const host = hostOf(config.addr ?? config.sentinel_config?.sentinel_addrs[0]) ?? '';
    return new CliError(EXIT_CODES.failed, `${shown}: not reached from here (${message}): ${remedy(host)}`, {
      cause: problem,
    });
  }
  if (!REFUSED.has(word))
    return new CliError(EXIT_CODES.failed, `${shown}: Redis answered ${word}`, { cause: problem });
  const rights =
    'its user needs +scan and +unlink; docs/operate/storage-schema.md has one for this, --username and --password-file take it';
  return new CliError(EXIT_CODES.forbidden, `${shown}: Redis answered ${word}: ${rights}`, { cause: problem });
}

interface Progress {
  deleted: number;
  signal: AbortSignal;
}

function goOn({ signal, deleted }: Progress): void {
  if (!signal.aborted) return;
  throw new CliError(
    EXIT_CODES.failed,
    `broken off, or the time was over (--timeout): ${deleted} keys are deleted; the same again goes on with the rest`,
  );
}

async function walk(
  { place, keys, others }: OpenKeys,
  progress: Progress,
  take: (kinds: Map<string, string>) => Promise<void>,
): Promise<void> {
  const { key_prefix: prefix } = place.config;
  goOn(progress);
  for await (const found of keys.find(prefix)) {
    const kinds = found.flatMap((key) => {
      const kind = kindOfKey(key, prefix, others);
      return kind === undefined ? [] : [[key, kind] as const];
    });
    if (kinds.length > 0) await take(new Map(kinds));
    goOn(progress);
  }
}

async function count(open: OpenKeys, progress: Progress): Promise<Amount[]> {
  const counted = new Map<string, Set<string>>();
  await walk(open, progress, (kinds) => {
    for (const [key, kind] of kinds) counted.set(kind, (counted.get(kind) ?? new Set()).add(key));
    return Promise.resolve();
  });
  return [...counted]
    .map(([what, all]) => ({ where: open.place.shown, what, count: all.size }))
    .sort((a, b) => (a.what < b.what ? -1 : 1));
}

async function remove(open: OpenKeys, progress: Progress): Promise<void> {
  await walk(open, progress, async (kinds) => {
    progress.deleted += await open.keys.remove([...kinds.keys()]);
  });
}

/** Shows the data and asks for confirmation first. @throws CliError */
export async function purge(
  server: string,
  options: PurgeOptions,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  checkOptions(options);
  if (isCluster(options)) {
    const { findInCluster } = await import('./find-in-cluster.ts');
    const { key, stored, close } = await findInCluster(server, options);
    return purgeStored(key, stored, options, context, stop).finally(close);
  }
  const { findLocally } = await import('./find-locally.ts');
  const key = readServer(server, options.namespace ?? 'default');
  return purgeStored(key, await findLocally(key, options, context), options, context, stop);
}

/** @throws CliError */
function check(
  key: ServerKey,
  { standing, files }: Stored,
  places: readonly ChosenKeys[],
  options: PurgeOptions,
): void {
  const { force, dryRun, redisAddress } = options;
  if (standing !== undefined && !force && !dryRun) {
    const remedy = 'delete it first, or say --force: everybody who uses it begins anew';
    throw new CliError(EXIT_CODES.conflict, `${standing}: ${remedy}`);
  }
  if (standing !== undefined || places.length > 0 || files.length > 0 || redisAddress !== undefined) return;
  const remedy = 'keys in a Redis are found by --redis-address, with --password-file; they also end by themselves';
  throw new CliError(EXIT_CODES.notFound, `there is no ${shownServer(key)}, and nothing of it here: ${remedy}`);
}

/** @throws CliError */
async function readFiles({ passwordFile, caFile }: PurgeOptions, context: Context): Promise<Map<string, string>> {
  if (passwordFile === '-' && caFile === '-') {
    const both = '--password-file and --ca-file are both -, and standard input is read once';
    throw new CliError(EXIT_CODES.usage, `${both}: name a file for one of them`);
  }
  const texts = new Map<string, string>();
  for (const path of [passwordFile, caFile]) {
    if (path !== undefined) texts.set(path, await readGiven(path, LONGEST_FILE, context));
  }
  return texts;
}

async function purgeStored(
  key: ServerKey,
  stored: Stored,
  options: PurgeOptions,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  const prefix = keyPrefixOf({ kind: key.kind, metadata: key }, key);
  const { written, readSecret } = stored;
  const given = await readFiles(options, context);
  const readFile = (path: string): string => given.get(path) ?? '';
  const places = chooseKeys(options, { written, prefix, readSecret, readFile });
  check(key, stored, places, options);
  const opened: OpenKeys[] = [];
  const progress = { deleted: 0, signal: AbortSignal.any([stop, AbortSignal.timeout(options.timeout)]) };
  try {
    for (const place of places) {
      const others = checkNeighbours(place, stored.neighbours, options);
      opened.push({ place, others, keys: await at(place, stored, () => openKeys(place)) });
    }
    const amounts = [...stored.files];
    for (const open of opened) amounts.push(...(await at(open.place, stored, () => count(open, progress))));
    if (options.dryRun || amounts.length === 0) {
      printRecords(amounts, AMOUNTS, options.output, context);
      return EXIT_CODES.ok;
    }
    if (!options.yes) context.err.write(`${tableOf(amounts, AMOUNTS).join('\n')}\n`);
    await confirm(`delete all this of ${shownServer(key)}`, options, context);
    for (const open of opened) await at(open.place, stored, () => remove(open, progress));
    stored.removeFiles();
    printRecords(amounts, AMOUNTS, options.output, context);
    const { length } = stored.files.filter(({ what }) => what === 'file');
    context.err.write(`${shownServer(key)}: deleted ${progress.deleted} keys and ${length} files\n`);
    return EXIT_CODES.ok;
  } finally {
    for (const { keys } of opened) keys.close();
  }
}

async function at<T>(place: ChosenKeys, { remedy }: Stored, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (problem) {
    throw explained(problem, place, remedy);
  }
}

/** Servers with the same prefix cannot be told apart; `--force` confirms that they use different Redis servers. @throws CliError */
function checkNeighbours(
  { config }: ChosenKeys,
  neighbours: readonly Neighbour[],
  { force }: { force: boolean },
): string[] {
  const { key_prefix: prefix } = config;
  const longer: string[] = [];
  for (const { shown, places } of neighbours) {
    for (const other of places) {
      const { key_prefix: its } = other.config;
      if (its !== prefix) {
        if (its.startsWith(prefix)) longer.push(its);
      } else if (placeText(other.config) === placeText(config)) {
        const remedy = 'their keys cannot be told apart; delete both servers, and then this';
        throw new CliError(EXIT_CODES.conflict, `${shown} has its keys under the same prefix ${prefix}: ${remedy}`);
      } else if (!force) {
        const remedy = 'if that is another Redis, say --force';
        throw new CliError(EXIT_CODES.conflict, `${shown} has keys under the same prefix ${prefix}: ${remedy}`);
      }
    }
  }
  return longer;
}
