import { describe, expect, it } from '@jest/globals';
import { isLoopbackHost } from './loopback.ts';

const hostOf = (url: string) => new URL(url).hostname;

describe('isLoopbackHost', () => {
  it.each([
    'http://localhost:4483/mcp',
    'http://LOCALHOST/',
    'http://127.0.0.1',
    'http://127.9.8.7',
    'http://127.1/',
    'http://[::1]:1/',
  ])('accepts the host of %s', (url) => expect(isLoopbackHost(hostOf(url))).toBe(true));

  it.each([
    ...['http://localhost.example.com', 'http://alocalhost', 'http://127.0.0.1.example.com', 'http://128.0.0.1'],
    ...['http://[::ffff:127.0.0.1]', 'http://[::]', 'http://0.0.0.0', 'http://localhost.'],
  ])('rejects the host of %s', (url) => expect(isLoopbackHost(hostOf(url))).toBe(false));
});
