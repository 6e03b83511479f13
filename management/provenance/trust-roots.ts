import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { DEFAULT_MIRROR_URL, getTrustedRoot } from '@sigstore/tuf';
import { toTrustMaterial, type TrustMaterial } from '@sigstore/verify';
import { z } from 'zod';
import { isLoopbackHost } from '#crds/parts/private-address';

export interface TrustRootsOptions {
  /** Holds a file `<host>.json` for each sigstore instance. Without it only the public instance is trusted. */
  folder: string | undefined;
  /** Folder for cached roots; without it the cache ends with the process. */
  cache: string | undefined;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** The message is public and ends a sentence. */
export class NoTrustRoots extends Error {
  override readonly name: string = 'NoTrustRoots';
}

class MirrorFailed extends NoTrustRoots {
  override readonly name = 'MirrorFailed';
}

const PUBLIC = new URL(DEFAULT_MIRROR_URL).host;
const LONGEST_FILE = 1024 * 1024;
/** Milliseconds that roots stay cached; roots change a few times a year. */
const BELIEVED = 3_600_000;
/** Milliseconds that a mirror failure stays cached. */
const FAILED = 30_000;
/** Milliseconds for one file of a mirror. */
const FETCH_TIMEOUT = 5000;
/** Milliseconds for all files of a mirror; a later call starts again. */
const READING_TIMEOUT = 60_000;

/** Root of the TUF repository on that host. Other files contain the trusted roots themselves. */
const TufRoot = z.object({ signed: z.object({ _type: z.literal('root') }) });

/** Trusts only built-in roots and roots of the administrator; a registry entry may only name an instance. */
export class TrustRoots {
  readonly #options: TrustRootsOptions;
  /** Cached by instance. Concurrent calls share one read. */
  readonly #known = new Map<string, { until: number; trust: Promise<TrustMaterial> }>();

  constructor(options: TrustRootsOptions) {
    this.#options = options;
  }

  /** @throws NoTrustRoots */
  async of(sigstoreUrl: string | undefined, signal: AbortSignal): Promise<TrustMaterial> {
    const host = hostOf(sigstoreUrl);
    try {
      return await Promise.race([this.#trustIn(host), ended(signal)]);
    } catch (cause) {
      throw cause instanceof NoTrustRoots ? cause : unread(host, cause);
    }
  }

  #trustIn(host: string): Promise<TrustMaterial> {
    const { now } = this.#options;
    const known = this.#known.get(host);
    if (known && known.until > now()) return known.trust;
    const trust = this.#read(host).then(toTrustMaterial);
    this.#known.set(host, { until: now() + BELIEVED, trust });
    trust.catch((problem: unknown) => {
      if (problem instanceof MirrorFailed) this.#known.set(host, { until: now() + FAILED, trust });
      else this.#known.delete(host);
    });
    return trust;
  }

  async #read(host: string): Promise<TrustedRoot> {
    const file = this.#fileOf(host);
    if (file === undefined) {
      if (host === PUBLIC) return this.#fetch(DEFAULT_MIRROR_URL, undefined);
      throw new NoTrustRoots(
        `the registry names the sigstore instance ${host}, which vmcp has no roots of; its administrator can give them`,
      );
    }
    const { text, value } = await readRootFile(file, host);
    if (TufRoot.safeParse(value).success) return this.#fetch(mirrorOf(host), { file, text });
    return readTrustedRoot(value, host);
  }

  #fileOf(host: string): string | undefined {
    const { folder } = this.#options;
    const file = folder === undefined ? undefined : join(folder, `${host.replace(':', '_')}.json`);
    return file !== undefined && existsSync(file) ? file : undefined;
  }

  /** Fetches roots from a mirror. If the mirror fails, cached roots are used until TUF rejects them as expired. */
  async #fetch(mirrorURL: string, root: { file: string; text: string } | undefined): Promise<TrustedRoot> {
    const { cache } = this.#options;
    const own = cache ?? (await mkdtemp(join(tmpdir(), 'vmcp-sigstore-')));
    // A changed root file uses a cache folder of its own.
    const mark = createHash('sha256')
      .update(root?.text ?? 'public')
      .digest('hex')
      .slice(0, 16);
    const cachePath = join(own, mark);
    const options = {
      cachePath,
      mirrorURL,
      timeout: FETCH_TIMEOUT,
      retry: { retries: 0 },
      ...(root && { rootPath: root.file }),
    };
    const fetched = mkdir(cachePath, { recursive: true, mode: 0o700 })
      .then(() => getTrustedRoot(options).catch(() => getTrustedRoot({ ...options, forceCache: true })))
      // The promise may settle after the timeout, so the clean-up belongs to it.
      .finally(() => (cache === undefined ? rm(own, { recursive: true, force: true }) : undefined));
    try {
      return await Promise.race([fetched, ended(AbortSignal.timeout(READING_TIMEOUT))]);
    } catch (cause) {
      throw new MirrorFailed(`the roots of ${new URL(mirrorURL).host} cannot be read`, { cause });
    }
  }
}

const mirrorOf = (host: string): string =>
  `${isLoopbackHost(new URL(`https://${host}`).hostname) ? 'http' : 'https'}://${host}`;

/** Accepts a URL with or without `https://`. @throws NoTrustRoots */
function hostOf(sigstoreUrl: string | undefined): string {
  if (!sigstoreUrl) return PUBLIC;
  const url = URL.parse(sigstoreUrl.includes('://') ? sigstoreUrl : `https://${sigstoreUrl}`);
  if (url?.pathname === '/' && /^[a-z0-9.-]+(:\d+)?$/.test(url.host)) return url.host;
  throw new NoTrustRoots('the registry names no sigstore instance that can be asked');
}

async function readRootFile(file: string, host: string): Promise<{ text: string; value: unknown }> {
  try {
    if ((await stat(file)).size > LONGEST_FILE) throw new Error('too long');
    const text = await readFile(file, 'utf8');
    return { text, value: JSON.parse(text) as unknown };
  } catch (cause) {
    throw unusable(host, cause);
  }
}

function readTrustedRoot(value: unknown, host: string): TrustedRoot {
  try {
    const root = TrustedRoot.fromJSON(value);
    if (root.certificateAuthorities.length > 0) return root;
  } catch (cause) {
    throw unusable(host, cause);
  }
  throw unusable(host);
}

const unread = (host: string, cause: unknown): NoTrustRoots =>
  new NoTrustRoots(`the roots of ${host} cannot be read`, { cause });

const unusable = (host: string, cause?: unknown): NoTrustRoots =>
  new NoTrustRoots(`the file with the roots of ${host} holds none; its administrator has to mend it`, { cause });

function ended(signal: AbortSignal): Promise<never> {
  const reason = () => new Error('not in time');
  if (signal.aborted) return Promise.reject(reason());
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(reason()), { once: true }));
}
