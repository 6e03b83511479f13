import type { lookup as systemLookup, LookupAddress } from 'node:dns';
import { describe, expect, it } from '@jest/globals';
import { publicLookup } from './public-lookup.ts';

describe('publicLookup', () => {
  type Callback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;
  const resolving = (...addresses: string[]) =>
    ((_name: string, _options: object, callback: (error: null, found: LookupAddress[]) => void) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )) as unknown as typeof systemLookup;
  const find = (lookup: typeof systemLookup, all: boolean) =>
    new Promise((resolve, reject) => {
      const done: Callback = (error, address) => (error ? reject(error) : resolve(address));
      publicLookup(lookup)('idp.example.com', { all }, done);
    });

  it('returns public addresses in the requested form', async () => {
    expect(await find(resolving('8.8.8.8', '2606:4700::1'), false)).toBe('8.8.8.8');
    expect(await find(resolving('8.8.8.8'), true)).toEqual([{ address: '8.8.8.8', family: 4 }]);
  });

  it('rejects a name if it has no address or one of its addresses is private', async () => {
    for (const all of [true, false]) {
      await expect(find(resolving('8.8.8.8', '10.0.0.1'), all)).rejects.toThrow('private address');
      await expect(find(resolving(), all)).rejects.toThrow('private address');
    }
  });

  it('passes on the error of a failed lookup', async () => {
    const failing = ((_name: string, _options: object, callback: (error: Error) => void) =>
      callback(new Error('ENOTFOUND'))) as unknown as typeof systemLookup;
    await expect(find(failing, true)).rejects.toThrow('ENOTFOUND');
  });
});
