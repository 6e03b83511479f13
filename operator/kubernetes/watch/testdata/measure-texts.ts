import { createTextSharing } from '../share-texts.ts';

/** Large enough that other allocations of the process do not matter. */
const COUNT = 200_000;
const UID = '6f0c2f5e-0000-4000-8000-000000000001';

/** Returns the bytes per object of many equal objects, each parsed separately. */
function sizeOf(prepare: (object: object) => void, field: string): number {
  const text = JSON.stringify({ metadata: { name: 'a' }, [field]: { value: UID } });
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const objects = Array.from({ length: COUNT }, () => {
    const object = JSON.parse(text) as object;
    prepare(object);
    return object;
  });
  globalThis.gc?.();
  return (process.memoryUsage().heapUsed - before) / objects.length;
}

const measured = ['spec', 'data'].map((field) => {
  const plain = sizeOf(() => undefined, field);
  return [field, plain - sizeOf(createTextSharing(), field)];
});
process.stdout.write(JSON.stringify(Object.fromEntries(measured)));
