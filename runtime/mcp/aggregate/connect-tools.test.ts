import { describe, expect, it } from '@jest/globals';
import { Aggregation } from '#crds/run-config/aggregation';
import type { Backend } from '#runtime/mcp/backends/backend';
import { connectTools, nameThatWaits } from './connect-tools.ts';

const backend = (name: string, provider?: string) =>
  ({ name, credential: provider === undefined ? {} : { login: { provider } } }) as unknown as Backend;

describe('connectTools', () => {
  it('creates one tool for each provider of any number of backends', () => {
    const tools = connectTools(
      [backend('a', 'github'), backend('b'), backend('c', 'slack'), backend('d', 'github')],
      60,
    );
    expect([...tools.keys()]).toEqual(['connect_github', 'connect_slack']);
    expect(tools.get('connect_github')).toMatchObject({ backend: 'a', connects: 'github' });
    expect(JSON.parse(tools.get('connect_github')?.text ?? '')).toMatchObject({
      name: 'connect_github',
      inputSchema: { type: 'object', properties: {} },
    });
  });

  it('does not name backends to callers without permission', () => {
    expect(connectTools([backend('secret-backend', 'github')], 60).get('connect_github')?.text).not.toMatch(
      /secret-backend/,
    );
  });

  it('obeys the length limit of names', () => {
    const [name = ''] = connectTools([backend('a', 'x'.repeat(63))], 40).keys();
    expect(name).toMatch(/^connect_x+_[0-9a-f]{8}$/);
    expect(name).toHaveLength(40);
  });
});

describe('nameThatWaits', () => {
  const unlinked = new Map([['github', 'github-login']]);
  const find = (kind: 'tools' | 'prompts' | 'resources', name: string, aggregation: object = {}) =>
    nameThatWaits(kind, name, unlinked, Aggregation.parse(aggregation));

  it('recognises a name of an unlinked backend by its prefix', () => {
    for (const kind of ['tools', 'prompts'] as const)
      expect(find(kind, 'github_anything')).toMatchObject({
        backend: 'github',
        connects: 'github-login',
        text: '',
        own: { name: 'anything' },
      });
  });

  it.each([
    ['another prefix', 'tools', 'slack_post', {}],
    ['the prefix alone', 'tools', 'github_', {}],
    ['a URI', 'resources', 'github_x', {}],
    ['names without prefix', 'tools', 'github_x', { conflict_resolution: 'priority' }],
    ['an empty prefix', 'tools', 'github_x', { prefix_format: '' }],
  ] as const)('ignores %s', (_case, kind, name, aggregation) => {
    expect(find(kind, name, aggregation)).toBeUndefined();
  });
});
