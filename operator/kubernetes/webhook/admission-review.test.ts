import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { AcquireAborted } from '#lib/limits/semaphore';
import { ReviewReader, TooMuch } from './admission-review.ts';

const MIB = 1024 * 1024;
const reviewOf = (spec: object) =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      ...{ uid: 'r1', namespace: 'team', operation: 'CREATE' },
      object: { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', metadata: { name: 'a' }, spec },
    },
  });
const requestOf = (body: string) =>
  Object.assign(Readable.from([Buffer.from(body)]), {
    headers: { 'content-length': String(Buffer.byteLength(body)) },
  }) as unknown as IncomingMessage;
const soon = () => AbortSignal.timeout(50);

describe('ReviewReader', () => {
  it('counts the values of a review, as short bodies of empty objects take twenty times their length', async () => {
    const reader = new ReviewReader();
    const body = reviewOf({ junk: Array.from({ length: 9000 }, () => ({})) });
    expect(body.length).toBeLessThan(32 * 1024);
    const read = await Promise.allSettled(Array.from({ length: 40 }, () => reader.read(requestOf(body), soon())));
    const held = read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(held.length).toBeGreaterThan(10);
    expect(held.length).toBeLessThan(30);
    await expect(reader.read(requestOf(body), soon())).rejects.toBeInstanceOf(AcquireAborted);
    const small = await reader.read(requestOf(reviewOf({ image: 'x' })), soon());
    expect(small.asked.proposal?.manifest.spec).toEqual({ image: 'x' });
    held[0]?.release();
    expect((await reader.read(requestOf(body), soon())).asked.uid).toBe('r1');
  });

  it('gives the memory of an invalid review back', async () => {
    const reader = new ReviewReader();
    const body = `"${'x'.repeat(3.5 * MIB)}"`;
    for (let at = 0; at < 3; at += 1)
      await expect(reader.read(requestOf(body), soon())).rejects.toThrow('Invalid input');
  });

  it('refuses a body of more than 4 MiB', async () => {
    await expect(new ReviewReader().read(requestOf(' '.repeat(4 * MIB + 1)), soon())).rejects.toBeInstanceOf(TooMuch);
  });
});
