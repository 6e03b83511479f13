import { describe, expect, it } from '@jest/globals';
import { readEndpoint } from './read-endpoint.ts';

const URL = 'https://mcp.example.com:8443/team/sse?x=1';

describe('the endpoint that a stream names', () => {
  it.each([
    ['/messages?sessionId=1', '/messages?sessionId=1'],
    ['messages?sessionId=1', '/team/messages?sessionId=1'],
    ['?sessionId=1', '/team/sse?sessionId=1'],
    ['https://mcp.example.com:8443/messages', '/messages'],
    ['https://MCP.example.com:8443/messages', '/messages'],
    ['/a/../messages#part', '/messages'],
    ['/messages with space', '/messages%20with%20space'],
  ])('accepts %s at its origin', (data, endpoint) => {
    expect(readEndpoint(data, URL)).toBe(endpoint);
  });

  it.each([
    ['another host', 'https://evil.example.com:8443/messages'],
    ['another port', 'https://mcp.example.com/messages'],
    ['no TLS', 'http://mcp.example.com:8443/messages'],
    ['a host without a scheme', '//evil.example.com/messages'],
    ['a host behind backslashes', '\\\\evil.example.com/messages'],
    ['a host behind a line end', '/\n/evil.example.com/messages'],
    ['a password', 'https://user:password@mcp.example.com:8443/messages'],
    ['another scheme', 'file:///etc/passwd'],
    ['no URL', 'https://[::'],
    ['more than is kept', `/${'x'.repeat(4096)}`],
  ])('rejects an endpoint that is %s', (_what, data) => {
    expect(readEndpoint(data, URL)).toBeUndefined();
  });
});
