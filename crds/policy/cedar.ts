import { createRequire } from 'node:module';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';

const load = createRequire(import.meta.url);

/** Returns Cedar. Loads it at the first call, so that an operator without policies saves 14 MB. */
export function cedar(): typeof Cedar {
  return load('@cedar-policy/cedar-wasm/nodejs') as typeof Cedar;
}
