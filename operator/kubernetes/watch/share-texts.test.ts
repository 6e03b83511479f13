import { describe, expect, it } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { shareTexts } from './share-texts.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

// So many that what else happens in the process does not count.
const COUNT = 200_000;
const UID = '6f0c2f5e-0000-4000-8000-000000000001';

/** Bytes that so many objects take, each read by itself. */
function sizeOf(prepare: (object: object) => void, field: string): number {
  const text = JSON.stringify({ metadata: { name: 'a' }, [field]: { value: UID } });
  collect();
  const before = process.memoryUsage().heapUsed;
  const objects = Array.from({ length: COUNT }, () => {
    const object = JSON.parse(text) as object;
    prepare(object);
    return object;
  });
  collect();
  return (process.memoryUsage().heapUsed - before) * (objects.length / COUNT);
}

describe('equal texts of objects', () => {
  it('are held once', () => {
    const plain = sizeOf(() => undefined, 'spec');
    const shared = sizeOf(shareTexts, 'spec');
    // A text of 36 bytes and what describes it.
    expect(plain - shared).toBeGreaterThan(COUNT * 30);
  });

  it('change nothing of the objects', () => {
    const object = { a: ['short', 'x'.repeat(40), 'x'.repeat(100), null, 1, true], b: { 'long key of a field': UID } };
    const copy = structuredClone(object);
    shareTexts(copy);
    shareTexts(copy);
    expect(copy).toEqual(object);
  });

  it('of a Secret stay its own', () => {
    const plain = sizeOf(() => undefined, 'data');
    const shared = sizeOf(shareTexts, 'data');
    expect(plain - shared).toBeLessThan(COUNT * 10);
  });
});
