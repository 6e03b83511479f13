import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { RUNTIME_ENVIRONMENT, RUNTIME_NODE_OPTIONS } from './runtime-node-options.ts';

describe('image of the runtime', () => {
  it('has the same Node and allocator options as a local process', () => {
    const dockerfile = readFileSync(new URL('../runtime/Dockerfile', import.meta.url), 'utf8');
    const [, words = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile) ?? [];
    expect(JSON.parse(words)).toEqual(['node', ...RUNTIME_NODE_OPTIONS, '/app/runtime.js']);
    const variables = dockerfile.matchAll(/^ENV (MALLOC_\w+)=(\w+)$/gm);
    expect(Object.fromEntries([...variables].map(([, name, value]) => [name, value]))).toEqual(RUNTIME_ENVIRONMENT);
  });
});
