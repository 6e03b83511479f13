import { createHash } from 'node:crypto';
import { isLoopbackHost } from '#crds/parts/loopback';
import { FetchFailure } from './fetch-failure.ts';
import type { HttpAnswer, HttpClient } from './http-client.ts';
import { hasMoreObjects, readBody, readJson } from './read-body.ts';

const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');
const LONGEST_MANIFEST = 4 * 1024 * 1024;
/** Of a manifest, or an index. */
const MOST_OBJECTS = 20_000;
const TOKEN_BOUNDS = { bytes: 131_072, objects: 100 };
const REDIRECTS = 3;

/** Something that a manifest names, as far as every registry says it. */
export interface NamedBlob {
  /** `sha256:<hex>` */
  digest: string;
  /** Bytes. */
  size: number;
}

/** One repository of a registry (OCI Distribution Specification 1.1), read as anybody may. */
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

  /** A manifest with its digest, which is the one that was asked for. @throws FetchFailure */
  async manifest(reference: string): Promise<{ manifest: unknown; digest: string; bytes: Buffer }> {
    return this.#json(`manifests/${reference}`, reference);
  }

  /** Index of what refers to a manifest, by the API or the tag for it; undefined where nothing does. @throws FetchFailure */
  async referrers(digest: string): Promise<unknown> {
    const byApi = await this.#orNone(this.#json(`referrers/${digest}`));
    return (byApi ?? (await this.#orNone(this.manifest(digest.replace(':', '-')))))?.manifest;
  }

  /** A manifest; undefined where there is none. @throws FetchFailure */
  async manifestIfThere(reference: string): Promise<unknown> {
    return (await this.#orNone(this.manifest(reference)))?.manifest;
  }

  /** A blob as a whole, with the digest that names it. @throws FetchFailure `unexpected`: it has another one, or more than `most` bytes */
  async wholeBlob({ digest, size }: NamedBlob, most: number): Promise<Buffer> {
    if (size > most) throw new FetchFailure('unexpected', `${this.#host} has ${digest} of more than ${most} bytes`);
    const bytes = await readBody(await this.blob(digest), most);
    if (sha256(bytes) === digest) return bytes;
    throw new FetchFailure('unexpected', `${this.#host} gave a blob of another digest than ${digest}`);
  }

  async #json(path: string, reference = ''): Promise<{ manifest: unknown; digest: string; bytes: Buffer }> {
    const answer = await this.#get(path, MANIFEST_TYPES);
    const bytes = await readBody(answer, LONGEST_MANIFEST);
    const digest = sha256(bytes);
    const said = answer.headers['docker-content-digest'];
    const expected = reference.startsWith('sha256:') ? reference : said;
    if (typeof expected === 'string' && expected.startsWith('sha256:') && expected !== digest)
      throw new FetchFailure('unexpected', `${this.#host} gave a manifest of another digest than ${expected}`);
    const text = bytes.toString('utf8');
    if (hasMoreObjects(text, MOST_OBJECTS))
      throw new FetchFailure('unexpected', `${this.#host} gave a manifest of more than ${MOST_OBJECTS} objects`);
    try {
      return { manifest: JSON.parse(text) as unknown, digest, bytes };
    } catch (cause) {
      throw new FetchFailure('unexpected', `${this.#host} did not answer a manifest`, { cause });
    }
  }

  /** A blob as it comes; who reads it has to check its digest. @throws FetchFailure */
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

  /** A token that anybody gets (Distribution token authentication). */
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
    const { value } = await readJson(answer, TOKEN_BOUNDS);
    const body = value as { token?: unknown; access_token?: unknown } | null;
    const token = body?.token ?? body?.access_token;
    if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
    throw new FetchFailure('unexpected', `${realm.host} gives no token`, { status: answer.status });
  }
}

const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
