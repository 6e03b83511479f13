import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { ObjectServer } from '#operator/kubernetes/testdata/object-server';
import { kubernetesSecrets } from './kubernetes-secrets.ts';
import { MOST_SECRETS } from './secrets.ts';

const PATH = '/api/v1/namespaces/team/secrets/vmcp-secrets';
const VALUE = 'hunter2-the-value';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('kubernetesSecrets', () => {
  let server: ObjectServer;
  let api: KubeApi;
  const secrets = () => kubernetesSecrets({ api, namespace: 'team', apiGroup: 'vmcp.dev' });
  beforeEach(async () => {
    server = await new ObjectServer().start();
    api = server.api();
  });
  afterEach(() => server.close());

  it('stores the secrets in one Secret with its own label', async () => {
    expect(await secrets().list()).toEqual({ type: 'kubernetes', keys: [] });
    await secrets().create('B', VALUE);
    await secrets().create('A', 'x');
    expect(server.at(PATH)).toMatchObject({
      type: 'Opaque',
      metadata: { labels: { 'vmcp.dev/secrets-provider': 'true', 'app.kubernetes.io/managed-by': 'vmcp-management' } },
      data: { A: base64('x'), B: base64(VALUE) },
    });
    await secrets().replace('B', 'y');
    await secrets().delete('A');
    expect([await secrets().list(), server.at(PATH)?.data]).toEqual([
      { type: 'kubernetes', keys: ['B'] },
      { B: base64('y') },
    ]);
  });

  it('creates a secret once, and changes and deletes it in place', async () => {
    await secrets().create('A', VALUE);
    await expect(secrets().create('A', 'x')).rejects.toMatchObject({ code: 'already_exists' });
    await expect(secrets().replace('B', 'x')).rejects.toMatchObject({ code: 'not_found' });
    await expect(secrets().delete('constructor')).rejects.toMatchObject({ code: 'not_found' });
    expect(server.at(PATH)?.data).toEqual({ A: base64(VALUE) });
  });

  it('neither lists nor writes a foreign Secret', async () => {
    server.put(PATH, { metadata: { name: 'vmcp-secrets' }, data: { THEIRS: base64('x') } });
    const before = server.at(PATH);
    for (const call of [() => secrets().list(), () => secrets().create('A', VALUE), () => secrets().delete('THEIRS')])
      await expect(call()).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('vmcp.dev/secrets-provider=true'),
      });
    expect(server.at(PATH)).toEqual(before);
  });

  it('ignores the Secret of another API group', async () => {
    const theirs = kubernetesSecrets({ api, namespace: 'team', apiGroup: 'mcp.example.com' });
    await theirs.create('A', VALUE);
    expect(server.at(PATH)?.metadata.labels).toMatchObject({ 'mcp.example.com/secrets-provider': 'true' });
    await expect(secrets().list()).rejects.toMatchObject({ code: 'conflict' });
    await expect(secrets().create('B', VALUE)).rejects.toMatchObject({ code: 'conflict' });
    expect((await theirs.list()).keys).toEqual(['A']);
  });

  it('loses no concurrent change', async () => {
    const all = Array.from({ length: 8 }, (_, n) => secrets().create(`K${n}`, String(n)));
    await Promise.all(all);
    expect((await secrets().list()).keys).toHaveLength(8);
  });

  it('limits the size', async () => {
    await secrets().create('A', 'x'.repeat(60_000));
    const calls = Array.from({ length: 12 }, (_, n) => secrets().create(`K${n}`, 'x'.repeat(65_536)));
    const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({ reason: { code: 'too_large' } });
  });

  it('limits the number', async () => {
    await secrets().create('A', 'x');
    const data = Object.fromEntries(Array.from({ length: MOST_SECRETS }, (_, n) => [`K${n}`, base64('x')]));
    server.put(PATH, { ...server.at(PATH), data });
    await expect(secrets().create('MORE', 'x')).rejects.toMatchObject({ code: 'too_large' });
    await secrets().delete('K0');
    await secrets().create('MORE', 'x');
    expect(server.at(PATH)?.data).toHaveProperty('MORE');
  });

  it('accepts no provider but kubernetes', async () => {
    expect((await secrets().setUp('kubernetes', undefined)).type).toBe('kubernetes');
    await expect(secrets().setUp('encrypted', 'correct horse')).rejects.toMatchObject({ code: 'unsupported_provider' });
  });
});
