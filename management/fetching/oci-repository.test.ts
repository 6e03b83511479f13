import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { OciRepository } from './oci-repository.ts';

const INDEX = '{"schemaVersion":2,"manifests":[]}';
const DIGEST = `sha256:${'a'.repeat(64)}`;
const BLOB = Buffer.from('some bytes');
const BLOB_DIGEST = `sha256:${createHash('sha256').update(BLOB).digest('hex')}`;

describe('OciRepository', () => {
  let http: HttpClient;
  let repository: OciRepository;
  let files: Map<string, { status?: number; body: string | Buffer; headers?: Record<string, string> }>;
  let asked: string[];
  /** Challenge for requests without the token, and the token. */
  let login: { challenge: string; token: string } | undefined;
  let host: string;
  let close: () => Promise<unknown>;
  beforeEach(async () => {
    files = new Map();
    asked = [];
    login = undefined;
    const server = createServer(({ url = '', headers }, response) => {
      asked.push(url);
      if (login && url.startsWith('/v2/') && headers.authorization !== `Bearer ${login.token}`) {
        response.writeHead(401, { 'www-authenticate': login.challenge }).end();
        return;
      }
      const found = files.get(url);
      response.writeHead(found?.status ?? (found ? 200 : 404), found?.headers).end(found?.body);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    http = createHttpClient({ allowPrivateAddress: true, remedy: '', proxy: undefined });
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    repository = new OciRepository(host, 'o/r', http, AbortSignal.timeout(60_000));
    close = async () => {
      await http.close();
      await new Promise((closed) => server.close(closed));
    };
  });
  afterEach(() => close());

  it('returns referrers from the API, from the fallback tag, or none', async () => {
    expect(await repository.referrers(DIGEST)).toEqual({ pages: [], hasMore: false });
    files.set(`/v2/o/r/manifests/${DIGEST.replace(':', '-')}`, { body: INDEX });
    const found = { pages: [JSON.parse(INDEX)], hasMore: false };
    expect(await repository.referrers(DIGEST)).toEqual(found);
    asked = [];
    files.set(`/v2/o/r/referrers/${DIGEST}`, { body: INDEX });
    expect([await repository.referrers(DIGEST), asked]).toEqual([found, [`/v2/o/r/referrers/${DIGEST}`]]);
  });

  const REFERRERS = `/v2/o/r/referrers/${DIGEST}`;
  const page = (path: string, nr: number, link: string) =>
    files.set(path, { body: JSON.stringify({ nr }), headers: { link } });

  it('follows the pages of a list within its own repository', async () => {
    page(REFERRERS, 1, `</first>; rel="first", <./${DIGEST}?last=1>; rel="next"`);
    page(`${REFERRERS}?last=1`, 2, `<${REFERRERS}?last=2>; title=x; rel=next`);
    files.set(`${REFERRERS}?last=2`, { body: '{"nr":3}' });
    expect(await repository.referrers(DIGEST)).toEqual({ pages: [{ nr: 1 }, { nr: 2 }, { nr: 3 }], hasMore: false });
    files.delete(`${REFERRERS}?last=2`);
    await expect(repository.referrers(DIGEST)).rejects.toMatchObject({ status: 404 });
    for (const elsewhere of ['http://127.0.0.1:1/v2/o/r/x', '/v2/o/other/x', '../../r2/x', 'http://'])
      await expect(
        Promise.resolve(page(REFERRERS, 1, `<${elsewhere}>; rel="next"`)).then(() => repository.referrers(DIGEST)),
      ).rejects.toThrow('elsewhere');
  });

  it('limits the pages of a list and reports when there are more', async () => {
    page(REFERRERS, 1, `<${REFERRERS}?n=1>; rel="next"`);
    page(`${REFERRERS}?n=1`, 2, `<${REFERRERS}?n=1>; rel="next"`);
    expect(await repository.referrers(DIGEST)).toMatchObject({ pages: { length: 10 }, hasMore: true });
    expect(asked).toHaveLength(10);
  });

  it('requests an anonymous token from the realm of the challenge', async () => {
    const realm = `http://${host}/token?account=any`;
    const path = `/token?account=any&service=a+registry&scope=${encodeURIComponent('repository:o/r:pull')}`;
    files.set('/v2/o/r/manifests/v1', { body: '{}' });
    const read = (challenge: string, answer: object) => {
      login = { challenge, token: 'anybody' };
      files.set(path, { body: JSON.stringify(answer) });
      return new OciRepository(host, 'o/r', http, AbortSignal.timeout(60_000)).manifestIfThere('v1');
    };
    const challenge = `Bearer error_realm="http://127.0.0.1:9/", REALM="${realm}",service="a registry",scope="repository:o/other:push"`;
    for (const answer of [{ token: 'anybody' }, { access_token: 'anybody' }])
      expect(await read(challenge, answer)).toEqual({});
    expect(asked.filter((one) => one.startsWith('/token'))).toEqual([path, path]);
    asked = [];
    await expect(read(challenge, { token: 'of somebody else' })).rejects.toThrow('gives no token');
    await expect(read(challenge, { token: 'other' })).rejects.toThrow('to nobody without a login');
    await expect(read('Bearer service="a registry"', {})).rejects.toThrow('names no place to get a token at');
    await expect(read(`Basic realm="${realm}"`, {})).rejects.toThrow('to nobody without a login');
    expect(asked.filter((one) => one.startsWith('/token'))).toHaveLength(2);
  });

  it('reports an error instead of an empty result', async () => {
    files.set(`/v2/o/r/referrers/${DIGEST}`, { status: 500, body: '' });
    await expect(repository.referrers(DIGEST)).rejects.toThrow('answered 500');
    files.set('/v2/o/r/manifests/x', { status: 403, body: '' });
    await expect(repository.manifestIfThere('x')).rejects.toThrow('without a login');
    expect(await repository.manifestIfThere('nothing')).toBeUndefined();
  });

  it('verifies the digest of a manifest', async () => {
    const digest = `sha256:${createHash('sha256').update(INDEX).digest('hex')}`;
    const headers = { 'docker-content-digest': digest };
    files.set(`/v2/o/r/manifests/${digest}`, { body: INDEX });
    expect((await repository.manifest(digest)).digest).toBe(digest);
    files.set(`/v2/o/r/manifests/${DIGEST}`, { body: INDEX, headers });
    await expect(repository.manifest(DIGEST)).rejects.toThrow(`another digest than ${DIGEST}`);
    files.set('/v2/o/r/manifests/v1', { body: INDEX, headers: { 'docker-content-digest': DIGEST } });
    await expect(repository.manifest('v1')).rejects.toThrow(`another digest than ${DIGEST}`);
  });

  it.each([
    ['docker.io', 'alpine', 'https://registry-1.docker.io/v2/library/alpine/manifests/v1'],
    ['index.docker.io', 'o/n', 'https://registry-1.docker.io/v2/o/n/manifests/v1'],
    ['ghcr.io', 'n', 'https://ghcr.io/v2/n/manifests/v1'],
  ])('maps the registry %s and the repository %s to its URL', async (registry, name, url) => {
    const urls: string[] = [];
    const noting: HttpClient = {
      call: (called) => Promise.reject(new Error(String(urls.push(called)))),
      close: () => Promise.resolve(),
    };
    const there = new OciRepository(registry, name, noting, AbortSignal.timeout(1000));
    await expect(there.manifest('v1')).rejects.toThrow();
    expect(urls).toEqual([url]);
  });

  it('rejects a manifest with too many objects', async () => {
    const manifest = (objects: number) => JSON.stringify({ layers: Array.from({ length: objects - 1 }, () => ({})) });
    files.set('/v2/o/r/manifests/x', { body: manifest(20_000) });
    expect(await repository.manifestIfThere('x')).toMatchObject({ layers: expect.any(Array) });
    files.set('/v2/o/r/manifests/x', { body: manifest(20_001) });
    await expect(repository.manifest('x')).rejects.toThrow('more than 20000 objects');
  });

  it('verifies the digest and the size of a blob', async () => {
    const path = `/v2/o/r/blobs/${BLOB_DIGEST}`;
    files.set(path, { body: BLOB });
    const blob = { digest: BLOB_DIGEST, size: BLOB.length };
    expect(await repository.wholeBlob(blob, BLOB.length)).toEqual(BLOB);
    asked = [];
    await expect(repository.wholeBlob(blob, BLOB.length - 1)).rejects.toThrow('more than 9 bytes');
    expect(asked).toEqual([]);
    await expect(repository.wholeBlob({ ...blob, size: 1 }, BLOB.length - 1)).rejects.toThrow('more than 9 bytes');
    files.set(path, { body: 'other bytes' });
    await expect(repository.wholeBlob(blob, 100)).rejects.toThrow('another digest');
  });
});
