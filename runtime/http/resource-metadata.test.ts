import { describe, expect, it } from '@jest/globals';
import { Incoming } from '#crds/run-config/incoming';
import { metadataPaths, metadataUrl, resourceMetadata } from './resource-metadata.ts';

const oidc = (more: object = {}) => Incoming.parse({ type: 'oidc', issuer: 'https://idp.example.com/', ...more });

describe('protected resource metadata (RFC 9728)', () => {
  it('contains resource and issuer byte for byte as configured', () => {
    const resourceUrl = 'https://MCP.example.com:443/mcp/?a=b';
    expect(resourceMetadata({ resourceUrl, incoming: oidc({ scopes: ['mcp', 'read'] }) })).toEqual({
      resource: resourceUrl,
      authorization_servers: ['https://idp.example.com/'],
      scopes_supported: ['mcp', 'read'],
      bearer_methods_supported: ['header'],
    });
  });

  it('omits the scopes if none is required', () => {
    const metadata = resourceMetadata({ resourceUrl: 'https://mcp.example.com/mcp', incoming: oidc() });
    expect(metadata).not.toHaveProperty('scopes_supported');
  });

  it('does not exist if no token is required', () => {
    const incoming = Incoming.parse({ type: 'anonymous' });
    expect(resourceMetadata({ resourceUrl: 'https://mcp.example.com/mcp', incoming })).toBeUndefined();
  });

  it.each([
    ['https://a.example/mcp', []],
    ['https://a.example', []],
    ['https://a.example/', []],
    ['https://a.example/team/one', ['/.well-known/oauth-protected-resource/team/one']],
    ['https://a.example/mcp/', ['/.well-known/oauth-protected-resource/mcp/']],
  ])('has paths at the root, at /mcp and with the path of %s inserted', (resourceUrl, more) => {
    expect(metadataPaths(resourceUrl)).toEqual([
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      ...more,
    ]);
  });

  it.each([
    ['https://a.example/mcp', 'https://a.example/.well-known/oauth-protected-resource/mcp'],
    ['http://localhost:4483/', 'http://localhost:4483/.well-known/oauth-protected-resource'],
    ['https://a.example/x/y', 'https://a.example/.well-known/oauth-protected-resource/x/y'],
  ])('has for %s the URL %s', (resourceUrl, url) => {
    expect(metadataUrl(resourceUrl)).toBe(url);
    expect(metadataPaths(resourceUrl)).toContain(new URL(url).pathname);
  });
});
