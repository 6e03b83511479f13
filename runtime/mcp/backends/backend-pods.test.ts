import { afterEach, describe, expect, it } from '@jest/globals';
import { MockAgent } from 'undici';
import { BackendPods } from './backend-pods.ts';

let opened: BackendPods[] = [];
afterEach(async () => {
  await Promise.all(opened.map((pods) => pods.close()));
  opened = [];
});

/** Creates the pods of a backend whose name resolves to these addresses. */
async function podsAt(addresses: readonly string[], url = 'http://files.team.svc:8080/mcp'): Promise<BackendPods> {
  const pods = new BackendPods({
    host: 'files-pods.team.svc',
    url: new URL(url),
    lookUp: () => Promise.resolve(addresses),
    createPool: () => new MockAgent(),
    connections: 1,
    now: () => 0,
  });
  opened.push(pods);
  await pods.look();
  return pods;
}

const HERE = ['127.0.0.1', '127.9.9.9', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1'];
const NEAR = ['169.254.169.254', 'fe80::1', '::ffff:169.254.169.254'];
const MANY = ['224.0.0.1', '255.255.255.255', 'ff02::1'];

describe('BackendPods', () => {
  it.each(['10.1.2.3', '192.168.4.5', '100.64.0.9', '203.0.113.7', 'fd00::7', '2001:db8::7'])(
    'accepts a pod at %s',
    async (address) => {
      expect(await (await podsAt([address])).pick()).toBe(address);
    },
  );

  it.each([...HERE, ...NEAR, ...MANY, 'pods.example', ''])(
    'rejects the address %j from any name server',
    async (address) => {
      expect(await (await podsAt([address])).pick()).toBeUndefined();
      const pods = await podsAt([address, '10.1.2.3']);
      expect([await pods.pick(), await pods.pick()]).toEqual(['10.1.2.3', '10.1.2.3']);
      expect(pods.has(address)).toBe(false);
    },
  );

  it('accepts loopback pods of a loopback backend', async () => {
    expect(await (await podsAt(['127.0.0.2'], 'http://127.0.0.1:8080/mcp')).pick()).toBe('127.0.0.2');
  });

  it('keeps at most a thousand pods', async () => {
    const addresses = Array.from({ length: 1_500 }, (_, nr) => `10.0.${Math.floor(nr / 250)}.${nr % 250}`);
    const pods = await podsAt(addresses);
    expect(addresses.filter((address) => pods.has(address))).toHaveLength(1_000);
  });
});
