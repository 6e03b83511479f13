import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createWorkload } from '#management/operations/create-workload';
import { until } from '../gateway/until.ts';
import { INDEX, MANIFEST } from '../skills/serve-oci.ts';
import { type EntryFixture, openEntryFixture } from './entry-fixture.ts';
import { makeSigstore, type Sigstore } from './make-sigstore.ts';
import { type Repository, serveRepository } from './serve-repository.ts';
import { attest, BUNDLE, signSimply, type SignatureLayer, storeByTag } from './sign-image.ts';
import { serveTuf } from './serve-tuf.ts';

const PUBLIC = 'tuf-repo-cdn.sigstore.dev';
const SIGNER = { identity: 'somebody@example.com', issuer: 'https://issuer.example' };
const PROVENANCE = { sigstore_url: PUBLIC, cert_issuer: SIGNER.issuer, signer_identity: SIGNER.identity };
const OTHER_DIGEST = `sha256:${'0'.repeat(64)}`;
const NAME = 'strange';
const REPOSITORY = `o/${NAME}`;
const MANY = Array.from({ length: 20_001 }, () => ({}));

describe('the check of an image in a slow or strange registry', () => {
  let registry: Repository;
  let fixture: EntryFixture;
  let sigstore: Sigstore;
  let image: string;
  let digest: string;
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    sigstore = await makeSigstore();
  });
  beforeEach(async () => {
    registry = await serveRepository();
    fixture = await openEntryFixture();
    fixture.setRoots(PUBLIC, sigstore.trustedRoot);
    image = `${registry.host}/${REPOSITORY}:v1`;
    digest = await registry.putManifest(REPOSITORY, 'v1', { schemaVersion: 2, mediaType: MANIFEST, layers: [] });
    await fixture.setEntry(NAME, { image, provenance: PROVENANCE });
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    await fixture.close();
    await registry.close();
  });

  const check = (signal: AbortSignal = AbortSignal.timeout(60_000)) =>
    fixture.place.services().provenance.check(NAME, image, { caller: { name: 'somebody' }, signal });
  const sign = async (of = digest): Promise<SignatureLayer> => signSimply(of, await sigstore.certify(SIGNER), sigstore);
  const store = (...layers: SignatureLayer[]) => storeByTag(registry, { repository: REPOSITORY, digest }, layers);
  const refer = (...manifests: object[]): void =>
    void registry.files.set(`referrers/${digest}`, JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests }));
  const descriptor = { mediaType: MANIFEST, artifactType: BUNDLE };

  const UNREADABLE: [string, () => Promise<string>, string][] = [
    ['is not there', () => Promise.resolve(OTHER_DIGEST), 'has no such artifact'],
    [
      'is too long',
      () => registry.putManifest(REPOSITORY, 'long', ' '.repeat(4 * 1024 * 1024 + 1)),
      'more than 4194304 bytes',
    ],
    [
      'has too many objects',
      () => registry.putManifest(REPOSITORY, 'many', { layers: MANY }),
      'more than 20000 objects',
    ],
    ['is of another digest', () => Promise.resolve(spoiled()), 'of another digest'],
    [
      'names a bundle that is not there',
      () =>
        registry.putManifest(REPOSITORY, 'empty', { layers: [{ mediaType: BUNDLE, digest: OTHER_DIGEST, size: 5 }] }),
      'has no such artifact',
    ],
  ];
  function spoiled(): string {
    registry.files.set(`manifests/${OTHER_DIGEST}`, '{}');
    return OTHER_DIGEST;
  }

  it.each(UNREADABLE)('refuses a signature whose manifest %s, and finds the next signature', async (_, put, why) => {
    refer({ ...descriptor, digest: await put() });
    await expect(check()).rejects.toMatchObject({ code: 'image_refused', message: expect.stringContaining(why) });
    await store(await sign(OTHER_DIGEST));
    await expect(check()).rejects.toThrow('it is of another image');
    await store(await sign());
    expect(await check()).toMatchObject({ result: 'verified', digest });
  });

  it('does not take an index that refers to an image for a signature', async () => {
    const index = await registry.putManifest(REPOSITORY, 'index', { mediaType: INDEX, manifests: [] });
    refer({ mediaType: INDEX, digest: OTHER_DIGEST }, { mediaType: MANIFEST, digest: index }, { digest: index });
    expect(await check()).toEqual({ result: 'unsigned', image });
    refer({ ...descriptor, digest: index });
    await expect(check()).rejects.toThrow('it cannot be read');
  });

  it('does not call an image unsigned while some referrers remain unchecked', async () => {
    const other = await registry.putManifest(REPOSITORY, 'other', { layers: [] });
    const referrers = Array.from({ length: 17 }, () => ({ mediaType: MANIFEST, digest: other }));
    refer(...referrers.slice(1));
    expect(await check()).toEqual({ result: 'unsigned', image });
    refer(...referrers);
    await expect(check()).rejects.toThrow('there are more than 16');
    await store(await sign());
    expect(await check()).toMatchObject({ result: 'verified' });
  });

  it('finds signatures in all pages of a list, and reports a list beyond its limit', async () => {
    const list = `referrers/${digest}`;
    await store(await sign(OTHER_DIGEST));
    const wrong = String(registry.files.get(`manifests/${digest.replace(':', '-')}.sig`));
    registry.files.delete(`manifests/${digest.replace(':', '-')}.sig`);
    const second = await registry.putManifest(REPOSITORY, 'second', wrong);
    refer();
    registry.files.set(`${list}?last=1`, JSON.stringify({ manifests: [{ ...descriptor, digest: second }] }));
    expect(await check()).toEqual({ result: 'unsigned', image });
    registry.links.set(list, `<./${digest}?last=1>; rel="next"`);
    await expect(check()).rejects.toThrow('it is of another image');
    registry.links.set(list, `<./${digest}>; rel="next"`);
    await expect(check()).rejects.toThrow('there are more than 16');
  });

  it('keeps a refusal, whatever the registry answers afterwards', async () => {
    refer({ ...descriptor, digest: OTHER_DIGEST });
    registry.failures.set(`manifests/${digest.replace(':', '-')}.sig`, 503);
    await expect(check()).rejects.toMatchObject({
      code: 'image_refused',
      message: expect.stringMatching(/no such artifact.*others cannot be read: .*answered 503/),
    });
    refer();
    expect(await check()).toMatchObject({ result: 'unchecked', reason: expect.stringContaining('answered 503') });
  });

  it.each<[string, () => Promise<SignatureLayer>, string]>([
    [
      'a bundle',
      () => Promise.resolve({ mediaType: BUNDLE, bytes: Buffer.from(JSON.stringify(MANY)), annotations: {} }),
      'it has more than 20000 objects',
    ],
    ['what is attested', async () => attested({ predicate: MANY }), 'it has more than 20000 objects'],
    ['the entry of a log', async () => withEntry(await attested({})), 'its log entries have more than 20000 objects'],
  ])('limits the objects in %s', async (_, make, why) => {
    await store(await make());
    await expect(check()).rejects.toMatchObject({ code: 'image_refused', message: expect.stringContaining(why) });
  });

  it('limits the objects in an annotation, although its manifest escapes their braces', async () => {
    const signed = await sign();
    await store({ ...signed, annotations: { ...signed.annotations, 'dev.sigstore.cosign/bundle': 'MANY' } });
    const path = `manifests/${digest.replace(':', '-')}.sig`;
    const escaped = JSON.stringify(MANY).replaceAll('{', '\\u007b');
    registry.files.set(path, String(registry.files.get(path)).replace('MANY', escaped));
    await expect(check()).rejects.toThrow('it has more than 20000 objects');
  });

  const attested = async (more: object): Promise<SignatureLayer> =>
    attest({ digest, ...more }, await sigstore.certify(SIGNER), sigstore);
  function withEntry(layer: SignatureLayer): SignatureLayer {
    const body = Buffer.from(JSON.stringify(MANY)).toString('base64');
    const text = layer.bytes.toString('utf8').replace(/"canonicalizedBody":"[^"]*"/, `"canonicalizedBody":"${body}"`);
    return { ...layer, bytes: Buffer.from(text) };
  }

  it.each<[string, () => Promise<() => boolean>]>([
    ['the image', () => hangs('manifests/v1')],
    ['its signatures', () => hangs(`referrers/${digest}`)],
    [
      'the roots',
      async () => {
        const mirror = await serveTuf(sigstore.trustedRoot);
        mirror.hang();
        closing.push(() => mirror.close());
        fixture.setRoots(mirror.host, mirror.root);
        await fixture.setEntry(NAME, { image, provenance: { ...PROVENANCE, sigstore_url: mirror.host } });
        return () => mirror.asked.length > 0;
      },
    ],
  ])('stops for a caller who leaves before %s arrives', async (_, hang) => {
    await store(await sign(OTHER_DIGEST));
    const isAsked = await hang();
    const gone = new AbortController();
    const checking = check(gone.signal);
    await until('the check waits', isAsked);
    gone.abort();
    await expect(checking).rejects.toMatchObject({ name: 'AbortError' });
  });
  function hangs(path: string): Promise<() => boolean> {
    registry.hang(path);
    return Promise.resolve(() => registry.asked.includes(path));
  }

  it('creates no workload for a caller who has left', async () => {
    const made = createWorkload.call(
      {
        params: {},
        query: {},
        body: { name: NAME, image, group: 'tools' },
        caller: { name: 'somebody', check: () => Promise.resolve() },
        signal: AbortSignal.abort(),
      },
      fixture.place.services(),
    );
    await expect(made).rejects.toThrow('aborted');
    expect(await fixture.get(NAME)).toMatchObject({ code: 'not_found' });
  });

  it('allows four at a time over all namespaces, and refuses more until one ends', async () => {
    registry.hang('manifests/v1');
    const gone = new AbortController();
    const four = Array.from({ length: 4 }, () => check(gone.signal));
    await until('four checks', () => registry.asked.length === 4);
    await expect(check()).rejects.toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '5' } });
    gone.abort();
    expect((await Promise.allSettled(four)).map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
    registry.hang();
    expect(await check()).toEqual({ result: 'unsigned', image });
  });

  it('limits the objects in an image manifest', async () => {
    await registry.putManifest(REPOSITORY, 'v1', { layers: MANY });
    expect(await check()).toMatchObject({ result: 'unchecked', reason: expect.stringContaining('20000 objects') });
  });
});
