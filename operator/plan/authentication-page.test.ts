import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { VirtualMCPServerSpec } from '#crds/kinds/index';
import { AuthServerConfig } from '#crds/parts/auth-server-config';

const page = readFileSync(join(import.meta.dirname, '../../docs/authentication.md'), 'utf8');
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => parse(text) as unknown);
const lists = blocks.filter((block): block is { name: string; required?: boolean }[] => Array.isArray(block));

/** Takes the place of the primary provider where an example is optional, or does not say who the user is. */
const PRIMARY = { name: 'primary', type: 'oidc', oidcConfig: { issuerUrl: 'https://id.example', clientId: 'x' } };

describe('docs/authentication.md', () => {
  it('shows an authorization server that is valid as it stands', () => {
    const [spec] = blocks.filter((block) => !Array.isArray(block));
    expect(() => VirtualMCPServerSpec.parse({ config: { groupRef: 'g' }, ...(spec as object) })).not.toThrow();
  });

  it.each(lists.map((list) => [list[0]?.name, list] as const))(
    'shows a provider %s that is valid as it stands',
    (_name, list) => {
      expect(() =>
        AuthServerConfig.parse({ issuer: 'https://mcp.example', upstreamProviders: [PRIMARY, ...list] }),
      ).not.toThrow();
    },
  );

  it('has a section for each kind of provider', () => {
    expect(lists.map(([first]) => first?.name)).toEqual(['company', 'github', 'google', 'entra', 'slack', 'notes']);
  });
});
