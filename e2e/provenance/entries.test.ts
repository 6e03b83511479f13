import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRegistry, type OciRegistry, serveOci, TGZ } from '../skills/serve-oci.ts';
import { type EntryFixture, openEntryFixture } from './entry-fixture.ts';
import { makeSigstore, type Signer, type Sigstore } from './make-sigstore.ts';
import {
  asCosign,
  attest,
  BUNDLE,
  signSimply,
  type SignatureLayer,
  storeAsReferrers,
  storeByTag,
} from './sign-image.ts';

const PUBLIC = 'tuf-repo-cdn.sigstore.dev';
const REPOSITORY = 'https://github.com/example/server';
const ISSUER = 'https://token.actions.githubusercontent.com';
const WORKFLOW = '/.github/workflows/release.yml';
const SIGNER: Signer = {
  identity: `${REPOSITORY}${WORKFLOW}@refs/tags/v1`,
  issuer: ISSUER,
  repository: REPOSITORY,
  ref: 'refs/tags/v1',
  runner: 'github-hosted',
};
const PROVENANCE = {
  sigstore_url: PUBLIC,
  cert_issuer: ISSUER,
  signer_identity: WORKFLOW,
  repository_uri: REPOSITORY,
  repository_ref: 'refs/tags/v1',
  runner_environment: 'github-hosted',
};
const SLSA = 'https://slsa.dev/provenance/v1';
const OTHER_DIGEST = `sha256:${'0'.repeat(64)}`;

const storeAttestation: typeof storeByTag = (registry, image, layers) =>
  storeByTag(registry, { ...image, kind: 'att' }, layers);

describeWithRegistry('a workload of an entry with provenance', () => {
  let registry: OciRegistry;
  let fixture: EntryFixture;
  let sigstore: Sigstore;
  let number = 0;
  beforeAll(async () => {
    registry = await serveOci();
    fixture = await openEntryFixture();
    sigstore = await makeSigstore();
    fixture.setRoots(PUBLIC, sigstore.trustedRoot);
  });
  afterAll(async () => {
    await fixture.close();
    await registry.close();
  });

  interface Image {
    name: string;
    repository: string;
    image: string;
    digest: string;
  }

  /** Makes an entry with this provenance and with a new image. */
  async function makeEntry(provenance: object = PROVENANCE): Promise<Image> {
    number += 1;
    const [name, repository] = [`server-${number}`, `o/server-${number}`];
    const digest = await registry.push(repository, 'v1', [{ bytes: Buffer.from(name), type: TGZ }]);
    const image = `${registry.host}/${repository}:v1`;
    await fixture.setEntry(name, { image, provenance });
    return { name, repository, image, digest };
  }

  const manifests = (): string =>
    fixture.place
      .files()
      .map((file) => fixture.place.read(file))
      .join();
  const create = ({ name, image }: Image, more: object = {}) =>
    fixture.create({ name, image, group: 'tools', registry_entry: name, ...more });
  const signed = async (digest: string, signer: Partial<Signer> = {}, by = sigstore): Promise<SignatureLayer> =>
    signSimply(digest, await by.certify({ ...SIGNER, ...signer }), by);
  const attested = async (digest: string, more: object = {}, signer: Partial<Signer> = {}): Promise<SignatureLayer> =>
    attest({ digest, ...more }, await sigstore.certify({ ...SIGNER, ...signer }), sigstore);

  it.each([
    ['below the tag of cosign', storeByTag, signed],
    ['that refers to the image, an attestation', storeAsReferrers, attested],
    [
      'an attestation below the tag of cosign',
      storeAttestation,
      async (digest: string) => asCosign(await attested(digest)),
    ],
  ] as const)('passes verification by a signature (%s), pinned by its digest', async (_, store, sign) => {
    const made = await makeEntry();
    await store(registry, made, [await sign(made.digest)]);
    expect((await create(made)).status).toBe(201);
    const before = manifests();
    const detail = await fixture.get(made.name);
    expect(detail.image).toBe(`${made.image}@${made.digest}`);
    expect(await fixture.contextOf(made.name)).toContain(
      `Its image is verified: ${SIGNER.identity} (${ISSUER}) signed ${made.digest}.`,
    );
    expect(await fixture.edit(made.name, detail)).toBe(200);
    expect(before).toContain(made.digest);
    expect(manifests()).toBe(before);
  });

  it('loses its verified status when it runs another image', async () => {
    const made = await makeEntry();
    await storeByTag(registry, made, [await signed(made.digest)]);
    await create(made);
    expect(await fixture.edit(made.name, { image: `${made.image}@${OTHER_DIGEST}` })).toBe(200);
    expect(await fixture.contextOf(made.name)).toContain('Its image is not verified: what runs was changed');
    expect(await fixture.edit(made.name, { image: `${made.image}@${made.digest}` })).toBe(200);
    expect(await fixture.contextOf(made.name)).toContain('Its image is verified');
  });

  it.each<[string, (digest: string) => Promise<SignatureLayer>, string]>([
    ['another image', () => signed(OTHER_DIGEST), 'it is of another image'],
    ['another repository', (digest) => signed(digest, { repository: 'https://github.com/evil/server' }), 'evil/server'],
    [
      'another workflow',
      (digest) => signed(digest, { identity: `${REPOSITORY}/.github/workflows/evil.yml@refs/tags/v1` }),
      'evil.yml',
    ],
    [
      'a workflow of another repository',
      (digest) => signed(digest, { identity: `https://github.com/evil/server${WORKFLOW}@refs/tags/v1` }),
      'https://github.com/evil/server',
    ],
    [
      'a workflow whose name begins so',
      (digest) => signed(digest, { identity: `${REPOSITORY}${WORKFLOW}.evil@refs/tags/v1` }),
      'release.yml.evil',
    ],
    [
      'another issuer',
      (digest) => signed(digest, { issuer: 'https://evil.example' }),
      'known by "https://evil.example"',
    ],
    ['another ref', (digest) => signed(digest, { ref: 'refs/heads/evil' }), 'refs/heads/evil'],
    ['another runner', (digest) => signed(digest, { runner: 'self-hosted' }), 'self-hosted'],
    ['a certificate that was over', (digest) => signed(digest, { age: 3_600_000 }), 'was not valid when it signed'],
    [
      'another sigstore instance',
      async (digest) => signed(digest, {}, await makeSigstore()),
      'its certificate is of no authority that is trusted',
    ],
    [
      'a signature that no log has',
      async (digest) => without(await signed(digest), 'dev.sigstore.cosign/bundle'),
      'nobody who is trusted says when it was made',
    ],
    [
      'a key in place of a certificate',
      async (digest) => without(await signed(digest), 'dev.sigstore.cosign/certificate'),
      'it was made with a key',
    ],
    [
      'a log entry of another signature',
      async (digest) => ({
        ...(await signed(digest)),
        annotations: {
          ...(await signed(digest)).annotations,
          'dev.sigstore.cosign/bundle': (await signed(digest)).annotations['dev.sigstore.cosign/bundle'] ?? '',
        },
      }),
      'no transparency log that is trusted has it',
    ],
    ['garbage', () => Promise.resolve(bundleOf(Buffer.from('{"mediaType":'))), 'it cannot be read'],
    ['an empty bundle', () => Promise.resolve(bundleOf(Buffer.from('{}'))), 'it cannot be read'],
    ['too many bytes', () => Promise.resolve(bundleOf(Buffer.alloc(5 * 1024 * 1024, 'x'))), 'more than 4194304 bytes'],
    ['an attestation of another image', () => attested(OTHER_DIGEST), 'it is of another image'],
    [
      'an attestation of somebody else',
      (digest) => attested(digest, {}, { issuer: 'https://evil.example' }),
      'evil.example',
    ],
  ])('fails with a signature of %s, and vmcp creates nothing', async (_, sign, why) => {
    const made = await makeEntry();
    const layer = await sign(made.digest);
    await (layer.mediaType === BUNDLE ? storeAsReferrers : storeByTag)(registry, made, [layer]);
    const refused = await create(made);
    expect(refused).toMatchObject({ status: 403, code: 'image_refused' });
    expect(refused.detail).toContain(why);
    expect(await fixture.get(made.name)).toMatchObject({ code: 'not_found' });
  });

  it('may run by the name of the image, without any statement about signatures', async () => {
    const made = await makeEntry();
    await storeByTag(registry, made, [await signed(OTHER_DIGEST)]);
    expect((await create(made)).status).toBe(403);
    expect((await create(made, { registry_entry: undefined })).status).toBe(201);
    expect(await fixture.contextOf(made.name)).not.toContain('verified');
  });

  it('needs one valid signature among several', async () => {
    const made = await makeEntry();
    await storeAsReferrers(registry, made, [await attested(OTHER_DIGEST)]);
    await storeByTag(registry, made, [
      await signed(made.digest, { issuer: 'https://evil.example' }),
      await signed(made.digest),
    ]);
    expect((await create(made)).status).toBe(201);
    expect(await fixture.contextOf(made.name)).toContain('Its image is verified');
  });

  it('needs the attestation that its entry requires', async () => {
    const attestation = { predicate_type: SLSA, predicate: { builder: 'x' } };
    const made = await makeEntry({ ...PROVENANCE, attestation });
    await storeByTag(registry, made, [await signed(made.digest)]);
    expect((await create(made)).detail).toContain(`it attests no "${SLSA}"`);
    await storeAsReferrers(registry, made, [await attested(made.digest, { predicate: { builder: 'y' } })]);
    expect((await create(made)).detail).toContain('it attests something else');
    await storeAsReferrers(registry, made, [await attested(made.digest, { predicate: { builder: 'x' } })]);
    expect((await create(made)).status).toBe(201);
  });

  it('starts without a signature, and says so', async () => {
    const made = await makeEntry();
    expect((await create(made)).status).toBe(201);
    expect((await fixture.get(made.name)).image).toBe(made.image);
    expect(await fixture.contextOf(made.name)).toContain('Its image is not verified: it has no signature');
  });

  it.each<[string, object, string]>([
    ['an issuer alone', { cert_issuer: ISSUER }, 'does not say enough'],
    ['a path in no repository', { cert_issuer: ISSUER, signer_identity: WORKFLOW }, 'does not say enough'],
    ['no issuer', { signer_identity: SIGNER.identity }, 'does not say enough'],
    [
      'an instance that is not known',
      { ...PROVENANCE, sigstore_url: 'sigstore.evil.example' },
      'sigstore.evil.example',
    ],
    ['an instance that is none', { ...PROVENANCE, sigstore_url: '../../etc/passwd' }, 'no sigstore instance'],
  ])('fails verification by a provenance with %s, although it is signed', async (_, provenance, why) => {
    const made = await makeEntry(provenance);
    await storeByTag(registry, made, [await signed(made.digest)]);
    expect((await create(made)).status).toBe(201);
    expect(await fixture.contextOf(made.name)).toMatch(/Its image is not verified: .*\.$/);
    expect(await fixture.contextOf(made.name)).toContain(why);
    expect((await fixture.get(made.name)).image).toBe(made.image);
  });

  it('fails verification if its registry is private or unavailable', async () => {
    const made = await makeEntry();
    await fixture.setEntry(made.name, { image: made.image, provenance: PROVENANCE }, false);
    expect((await create(made)).status).toBe(201);
    expect(await fixture.contextOf(made.name)).toContain('is a private address; set allow_private_ip of the registry');
    const away = { ...made, name: 'away', image: '127.0.0.1:1/o/server:v1' };
    await fixture.setEntry(away.name, { image: away.image, provenance: PROVENANCE });
    expect((await create(away)).status).toBe(201);
    expect(await fixture.contextOf(away.name)).toContain('127.0.0.1:1 cannot be reached');
  });

  it('fails with another image than that of its entry, or without an entry', async () => {
    const made = await makeEntry();
    const other = await create(made, { image: `${registry.host}/o/other:v1` });
    expect(other).toMatchObject({ status: 400, detail: expect.stringContaining('image') });
    const none = await create(made, { registry_entry: 'nowhere' });
    expect(none).toMatchObject({ status: 400, detail: expect.stringContaining('nowhere') });
  });
});

const bundleOf = (bytes: Buffer): SignatureLayer => ({ mediaType: BUNDLE, bytes, annotations: {} });

function without(layer: SignatureLayer, annotation: string): SignatureLayer {
  const annotations = Object.fromEntries(Object.entries(layer.annotations).filter(([name]) => name !== annotation));
  return { ...layer, annotations };
}
