import { createHash } from 'node:crypto';
import { isLoopbackHost } from '#crds/parts/private-address';
import { BOUNDS } from '../memory-bounds.ts';
import { FetchFailure } from './fetch-failure.ts';
import type { HttpAnswer, HttpClient } from './http-client.ts';
import { excessOf } from '#operator/json-amounts';
import { readBody, readJson } from './read-body.ts';

const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');
const LONGEST_MANIFEST = BOUNDS.signatures.manifest;
const MOST = { objects: 20_000, values: 100_000 };
const TOKEN_BOUNDS = { bytes: 131_072, objects: 100, values: 1_000 };
const REDIRECTS = 3;
const MOST_PAGES = 10;

/** Blob that a manifest names, with the fields that every registry sets. */
export interface NamedBlob {
  /** Format: `sha256:<hex>`. */
  digest: string;
  /** Bytes. */
  size: number;
}

interface Manifest {
  manifest: unknown;
  digest: string;
  bytes: Buffer;
  next: string | undefined;
}

export interface Referrers {
  pages: readonly unknown[];
  /** There are more pages than `MOST_PAGES`. */
  hasMore: boolean;
}

/** OCI Distribution Specification 1.1, read anonymously. */
export class OciRepository {
  readonly #http: HttpClient;
  readonly #signal: AbortSignal;
  readonly #host: string;
  readonly #base: string;
  readonly #name: string;
  #token: string | undefined;

  constructor(registry: string, repository: string, http: HttpClient, signal: AbortSignal) {
    const isHub = registry === 'docker.io' || registry === 'index.docker.io';
    this.#host = isHub ? 'registry-1.docker.io' : registry;
    this.#name = isHub && !repository.includes('/') ? `library/${repository}` : repository;
    const { hostname } = new URL(`https://${this.#host}`);
    this.#base = `${isLoopbackHost(hostname) ? 'http' : 'https'}://${this.#host}/v2/${this.#name}`;
    this.#http = http;
    this.#signal = signal;
  }

  /** Verifies the digest. @throws FetchFailure */
  async manifest(reference: string): Promise<Omit<Manifest, 'next'>> {
    return this.#json(`manifests/${reference}`, reference);
  }

  /** Reads the API or the fallback tag; no page if there are none. @throws FetchFailure */
  async referrers(digest: string): Promise<Referrers> {
    let page = await this.#orNone(this.#json(`referrers/${digest}`));
    if (!page) {
      const byTag = await this.manifestIfThere(digest.replace(':', '-'));
      return { pages: byTag === undefined ? [] : [byTag], hasMore: false };
    }
    const pages = [page.manifest];
    while (page.next !== undefined && pages.length < MOST_PAGES) {
      page = await this.#json(page.next);
      pages.push(page.manifest);
    }
    return { pages, hasMore: page.next !== undefined };
  }

  /** Returns undefined if the manifest does not exist. @throws FetchFailure */
  async manifestIfThere(reference: string): Promise<unknown> {
    return (await this.#orNone(this.manifest(reference)))?.manifest;
  }

  /** Verifies the digest. @throws FetchFailure `unexpected`: another digest, or more than `most` bytes */
  async wholeBlob({ digest, size }: NamedBlob, most: number): Promise<Buffer> {
    if (size > most) throw new FetchFailure('unexpected', `${this.#host} has ${digest} of more than ${most} bytes`);
    const bytes = await readBody(await this.blob(digest), most);
    if (sha256(bytes) === digest) return bytes;
    throw new FetchFailure('unexpected', `${this.#host} gave a blob of another digest than ${digest}`);
  }

  async #json(path: string, reference = ''): Promise<Manifest> {
    const answer = await this.#get(path, MANIFEST_TYPES);
    const bytes = await readBody(answer, LONGEST_MANIFEST);
    const digest = sha256(bytes);
    const said = answer.headers['docker-content-digest'];
    const expected = reference.startsWith('sha256:') ? reference : said;
    if (typeof expected === 'string' && expected.startsWith('sha256:') && expected !== digest)
      throw new FetchFailure('unexpected', `${this.#host} gave a manifest of another digest than ${expected}`);
    const text = bytes.toString('utf8');
    const excess = excessOf(text, MOST);
    if (excess !== undefined) throw new FetchFailure('unexpected', `${this.#host} gave a manifest of ${excess}`);
    const next = this.#nextOf(answer);
    try {
      return { manifest: JSON.parse(text) as unknown, digest, bytes, next };
    } catch (cause) {
      throw new FetchFailure('unexpected', `${this.#host} did not answer a manifest`, { cause });
    }
  }

  /** Follows RFC 8288. @throws FetchFailure if the page is outside this repository */
  #nextOf({ headers: { link }, url }: HttpAnswer): string | undefined {
    const links = [
      ...[link ?? []]
        .flat()
        .join(', ')
        .matchAll(/<([^<>]*)>([^<]*)/g),
    ];
    const [, target] = links.find(([, , parameters = '']) => /;\s*rel="?next"?\s*(?:[;,]|$)/i.test(parameters)) ?? [];
    if (target === undefined) return undefined;
    const next = URL.parse(target, url.href)?.href ?? '';
    if (next.startsWith(`${this.#base}/`)) return next.slice(this.#base.length + 1);
    throw new FetchFailure('unexpected', `${this.#host} continues a list elsewhere`);
  }

  /** The caller has to verify the digest. @throws FetchFailure */
  async blob(digest: string): Promise<HttpAnswer> {
    return this.#get(`blobs/${digest}`, '*/*');
  }

  async #orNone<T>(found: Promise<T>): Promise<T | undefined> {
    return found.catch((error: unknown) => {
      if (error instanceof FetchFailure && error.status === 404) return undefined;
      throw error;
    });
  }

  async #get(path: string, accept: string): Promise<HttpAnswer> {
    const ask = () =>
      this.#http.call(`${this.#base}/${path}`, {
        headers: { accept, ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }) },
        signal: this.#signal,
        redirects: REDIRECTS,
      });
    let answer = await ask();
    if (answer.status === 401 && this.#token === undefined) {
      await answer.body.dump();
      this.#token = await this.#askToken(answer.headers['www-authenticate']);
      answer = await ask();
    }
    if (answer.status === 200) return answer;
    await answer.body.dump();
    const isGone = answer.status === 404 || answer.status === 401 || answer.status === 403;
    const what = isGone ? 'has no such artifact, or shows it to nobody without a login' : `answered ${answer.status}`;
    throw new FetchFailure('unexpected', `${this.#host} ${what}`, { status: answer.status });
  }

  /** Uses anonymous Distribution token authentication. */
  async #askToken(challenge: string | string[] | undefined): Promise<string | undefined> {
    const text = typeof challenge === 'string' ? challenge : '';
    if (!/^bearer /i.test(text)) return undefined;
    const fields = new Map(
      [...text.matchAll(/(?<![a-z])([a-z]+)="([^"]*)"/gi)].map(([, key = '', value = '']) => [
        key.toLowerCase(),
        value,
      ]),
    );
    const realm = URL.parse(fields.get('realm') ?? '');
    if (realm === null) throw new FetchFailure('unexpected', `${this.#host} names no place to get a token at`);
    const service = fields.get('service');
    if (service !== undefined) realm.searchParams.set('service', service);
    realm.searchParams.set('scope', `repository:${this.#name}:pull`);
    const answer = await this.#http.call(realm.href, { headers: { accept: 'application/json' }, signal: this.#signal });
    const value = await readJson(answer, TOKEN_BOUNDS);
    const body = value as { token?: unknown; access_token?: unknown } | null;
    const token = body?.token ?? body?.access_token;
    if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
    throw new FetchFailure('unexpected', `${realm.host} gives no token`, { status: answer.status });
  }
}

const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
