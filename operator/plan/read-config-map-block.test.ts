import { describe, expect, it } from '@jest/globals';
import { InlineAuthz } from '#crds/parts/authz-config';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import { readBlock, readConfigMapBlock } from './read-config-map-block.ts';

const keys = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}: 1`).join('\n');
const read = (text: string) => readBlock(InlineAuthz, text);

const PLATFORM = { mode: 'cluster', runtimeImage: 'i', allowHostPaths: false } as const;

/** Milliseconds that linear parsing needs on a loaded machine. Superlinear parsing takes minutes. */
const SOON = 30_000;

describe('readConfigMapBlock', () => {
  it.each([
    ['of 90,000 keys', keys(90_000), 'more than 20000 words and signs; remove entries'],
    ['of open brackets', '['.repeat(500_000), 'nested more than 100 deep; make it flatter'],
    ['of open mappings', 'a: '.concat('{a: '.repeat(100_000)), 'nested more than 100 deep; make it flatter'],
    ['of lists in a line', '- '.repeat(200_000), 'nested more than 100 deep; make it flatter'],
    ['of questions in a line', '? '.repeat(200_000), 'nested more than 100 deep; make it flatter'],
    ['of wrong escapes', `a: "${'\\q'.repeat(400_000)}"`, 'a text in double quotes holds an unknown escape'],
    ['that is long', `policies: ["${'x'.repeat(1_048_576)}"]`, 'longer than 1048576 bytes; shorten it'],
  ])('rejects %s before parsing it', (_, text, problem) => {
    const before = performance.now();
    expect(read(text)).toEqual({ problems: [expect.stringContaining(`it is not read: ${problem}`)] });
    expect(performance.now() - before).toBeLessThan(SOON);
  });

  it('names the ConfigMap and its key in the message', () => {
    const snapshot = emptySnapshot({ platform: PLATFORM, configMaps: { large: { 'authz.json': keys(90_000) } } });
    const reference = { name: 'large', key: 'authz.json' };
    expect(() => readConfigMapBlock(read, reference, 'authz.configMap', 'InvalidPolicy', snapshot)).toThrow(
      'authz.configMap: ConfigMap "large", key "authz.json": it is not read: more than 20000 words and signs',
    );
  });

  it('accepts a text as long as its fields allow', () => {
    const policies = Array.from(
      { length: 60 },
      () => `// "${'[{ \\q '.repeat(2000)}\npermit(principal, action, resource);`,
    );
    expect(read(JSON.stringify({ policies }))).toEqual({ data: { policies, entitiesJson: '[]' } });
    const lines = policies.map((policy) => `  - |-\n${policy.replaceAll(/^/gm, '    ')}`);
    expect(read(`policies:\n${lines.join('\n')}\n`)).toEqual({ data: { policies, entitiesJson: '[]' } });
  });

  it.each(['policies: []\npolicies: ["permit(principal, action, resource);"]', '{"policies": [], "policies": ["x"]}'])(
    'reports no problem twice: %s',
    (text) => expect(read(text)).toEqual({ problems: [expect.stringContaining('neither YAML nor JSON')] }),
  );
});
