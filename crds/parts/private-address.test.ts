import { describe, expect, it } from '@jest/globals';
import { isLoopbackHost, isPrivateAddress } from './private-address.ts';

describe('isPrivateAddress', () => {
  it.each([
    ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1'],
    ...['172.31.255.255', '192.168.1.1', '192.0.0.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '64:ff9b::10.0.0.1', '64:ff9b:1::8.8.8.8'],
    ...[
      'fc00::1',
      'fd12::1',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
      '2001:db8::1',
      '2002:7f00:1::',
      '100::1',
    ],
    ...['', 'localhost', '1.2.3', '999.1.1.1'],
  ])('returns true for %p', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each([
    '8.8.8.8',
    '100.128.0.1',
    '172.32.0.1',
    '192.169.0.1',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
  ])('returns false for %s', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});

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
