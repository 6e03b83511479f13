import { describe, expect, it } from '@jest/globals';
import { hostMatches } from './resolve-outgoing-auth.ts';

describe('allowedHosts', () => {
  it.each([
    ['api.github.example', 'https://api.github.example/mcp'],
    ['API.github.example', 'https://api.GITHUB.example/mcp'],
    ['api.github.example', 'https://api.github.example:8443/mcp'],
    ['api.github.example:443', 'https://api.github.example/mcp'],
    ['api.github.example:80', 'http://api.github.example/mcp'],
    ['*.github.example', 'https://api.github.example/mcp'],
    ['*.github.example', 'https://a.b.github.example/mcp'],
    ['*.github.example:8443', 'https://api.github.example:8443/mcp'],
    ['[::1]:8080', 'http://[::1]:8080/mcp'],
    ['127.0.0.1', 'http://2130706433/mcp'],
  ])('%s allows %s', (pattern, url) => {
    expect(hostMatches(pattern, url)).toBe(true);
  });

  it.each([
    ['api.github.example', 'https://evil.example/mcp'],
    ['api.github.example', 'https://api.github.example.evil.example/mcp'],
    ['api.github.example', 'https://api.github.example@evil.example/mcp'],
    ['api.github.example', 'https://evil.example/api.github.example'],
    ['api.github.example', 'https://api.github.example./mcp'],
    ['api.github.example:443', 'https://api.github.example:8443/mcp'],
    ['api.github.example:443', 'http://api.github.example/mcp'],
    ['*.github.example', 'https://github.example/mcp'],
    ['*.github.example', 'https://evilgithub.example/mcp'],
    ['[::1]', 'http://[::2]/mcp'],
  ])('%s rejects %s', (pattern, url) => {
    expect(hostMatches(pattern, url)).toBe(false);
  });
});
