import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createTextSharing } from './share-texts.ts';

const UID = '6f0c2f5e-0000-4000-8000-000000000001';
const Saved = z.object({ spec: z.number(), data: z.number() });

describe('createTextSharing', () => {
  it('stores equal texts once, except those of a Secret', () => {
    // Measures in a separate process, without the garbage of other tests.
    const measuring = join(import.meta.dirname, 'testdata/measure-texts.ts');
    const output = execFileSync(process.execPath, ['--expose-gc', measuring], { encoding: 'utf8', timeout: 60_000 });
    const saved = Saved.parse(JSON.parse(output));
    // Bytes of an object: a text of 36 bytes and its header.
    expect(saved.spec).toBeGreaterThan(30);
    expect(saved.data).toBeLessThan(10);
  });

  it('leaves the values of objects unchanged', () => {
    const share = createTextSharing();
    const object = { a: ['short', 'x'.repeat(40), 'x'.repeat(100), null, 1, true], b: { 'long key of a field': UID } };
    const copy = structuredClone(object);
    share(copy);
    share(copy);
    expect(copy).toEqual(object);
  });
});
