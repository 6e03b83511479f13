import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { VirtualMCPServerSpec } from '#crds/kinds/index';
import { AuthServerConfig } from '#crds/parts/auth-server-config';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/authentication.md'), 'utf8');
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => parse(text) as unknown);
const lists = blocks.filter((block): block is { name: string; required?: boolean }[] => Array.isArray(block));

/** Replaces the primary provider where an example is optional or does not identify the user. */
const PRIMARY = { name: 'primary', type: 'oidc', oidcConfig: { issuerUrl: 'https://id.example', clientId: 'x' } };

describe('docs/how-to/authentication.md', () => {
  it('shows a valid authorization server', () => {
    const [spec] = blocks.filter((block) => !Array.isArray(block));
    expect(() => VirtualMCPServerSpec.parse({ config: { groupRef: 'g' }, ...(spec as object) })).not.toThrow();
  });

  it.each(lists.map((list) => [list[0]?.name, list] as const))(
    'shows a valid configuration of provider %s',
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
