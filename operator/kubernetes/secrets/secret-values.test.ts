import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ObjectServer } from '../testdata/object-server.ts';
import { SecretValues } from './secret-values.ts';

const ignore = () => undefined;
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const reference = (key: string) => ({ headers: [{ name: 's', key }] });

let server: ObjectServer;
let values: SecretValues;
beforeEach(async () => {
  server = await new ObjectServer().start();
  values = new SecretValues(server.api(), log);
  values.useKey('key');
});
afterEach(() => server.close());

function write(data: Record<string, string>): void {
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'ns' }, data };
  values.named.told(server.put('/api/v1/namespaces/ns/secrets/s', object).metadata, true);
}

describe('SecretValues', () => {
  it('keeps the values of named keys only, and digests of the others', async () => {
    write({ one: 'MQ==', two: 'Mg==' });
    values.named.refer('ns', 'MCPServer/a', reference('one'));
    expect(Object.keys((await values.named.load('ns')).s ?? {})).toEqual(['one', 'two']);
    expect(values.value('ns', 's', 'one')).toBe('MQ==');
    expect(values.value('ns', 's', 'two')).toBeUndefined();
  });

  it('computes digests that cannot be guessed without the key', async () => {
    const digestBy = async (key: string) => {
      values = new SecretValues(server.api(), log);
      values.useKey(key);
      write({ one: 'MQ==' });
      values.named.refer('ns', 'MCPServer/a', reference('one'));
      return (await values.named.load('ns')).s?.one;
    };
    const digests = [await digestBy('one key'), await digestBy('one key'), await digestBy('another key')];
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(digests[1]).toBe(digests[0]);
    expect(digests[2]).not.toBe(digests[0]);
  });

  it('returns a value after a resource names another key', async () => {
    write({ one: 'MQ==', two: 'Mg==', three: 'Mw==' });
    values.named.refer('ns', 'MCPServer/a', reference('one'));
    await values.named.load('ns');
    values.named.refer('ns', 'MCPServer/b', reference('two'));
    await values.named.load('ns');
    values.named.refer('ns', 'MCPServer/a', reference('three'));
    await values.named.load('ns');
    expect(['two', 'three'].map((key) => values.value('ns', 's', key))).toEqual(['Mg==', 'Mw==']);
  });

  it.each([
    ['named values', { k: 'a'.repeat(8 * 1024 * 1024) }],
    ['keys', Object.fromEntries(Array.from({ length: 17_000 }, (_, at) => [`k${at}`, '']))],
  ])('refuses Secrets that are too large because of their %s', async (_what, data) => {
    write(data);
    values.named.refer('ns', 'MCPServer/a', reference('k'));
    expect(await values.named.load('ns')).not.toHaveProperty('s');
    expect(values.named.refused('ns').s).toMatch(/ 8 MiB/);
  });
});
