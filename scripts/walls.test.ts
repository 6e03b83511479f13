import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ESLint } from 'eslint';
import tseslint from 'typescript-eslint';

const ROOT = join(import.meta.dirname, '..');
// Omits rules that need types, as they require existing files.
const eslint = new ESLint({
  cwd: ROOT,
  overrideConfig: [{ files: ['**/*.ts'], ...tseslint.configs.disableTypeChecked }],
});

/** Returns the rules that reject this text at this path. */
async function refusals(file: string, text: string): Promise<(string | null)[]> {
  const [result] = await eslint.lintText(text, { filePath: join(ROOT, file) });
  return (result?.messages ?? []).map(({ ruleId }) => ruleId);
}

const importing = (name: string) => `import { x } from '${name}';\nexport const y = x;\n`;
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n');

describe('import walls', () => {
  it.each([
    ['operator/plan/x.ts', '#runtime/serve'],
    ['local/x.ts', '../../runtime/serve.ts'],
    ['runtime/x.ts', '#operator/reconcile'],
    ['crds/kinds/x.ts', 'undici'],
    ['crds/kinds/x.ts', '#runtime/errors'],
    ['lib/connections/x.ts', 'node:fs'],
    ['lib/connections/x.ts', '#operator/snapshot'],
    ['lib/files/x.ts', '#runtime/errors'],
    ['lib/files/x.ts', '../../runtime/errors.ts'],
    ['lib/connections/x.ts', '../../operator/snapshot.ts'],
    ['crds/kinds/x.ts', '../../lib/files/write-file.ts'],
    ['lib/files/x.ts', 'zod'],
    ['operator/x.ts', '#local/platform'],
    ['operator/kubernetes/watch/x.ts', '#management/problem'],
    ['operator/kubernetes/program/x.ts', '#management/problem'],
    ['local/x.ts', '#management/problem'],
    ['management/x.ts', '#cli/context'],
    ['management/x.ts', '#runtime/errors'],
    ['cli/x.ts', '#runtime/errors'],
    ['operator/plan/x.ts', 'node:fs'],
    ['operator/plan/x.ts', '#local/platform'],
    ['operator/plan/x.ts', '../yaml-bounds.ts'],
    ['local/x.ts', '@kubernetes/client-node'],
    ['operator/x.ts', '@cedar-policy/cedar-wasm'],
    ['runtime/incoming/x.ts', '@cedar-policy/cedar-wasm'],
    ['runtime/mcp/x.ts', 'express'],
    ['runtime/mcp/x.ts', 'ioredis'],
  ])('%s may not import %s', async (file, name) => {
    expect(await refusals(file, importing(name))).toContain('no-restricted-imports');
  });

  it.each([
    ['operator/plan/x.ts', '#operator/snapshot'],
    ['operator/plan/x.ts', '../yaml-text.ts'],
    ['operator/kubernetes/x.ts', '@kubernetes/client-node'],
    ['local/x.ts', '#operator/reconcile'],
    ['management/x.ts', '#lib/files/write-file'],
    ['management/x.ts', '@kubernetes/client-node'],
    ['cli/x.ts', '#management/problem'],
    ['crds/policy/x.ts', '@cedar-policy/cedar-wasm'],
    ['lib/connections/x.ts', 'undici'],
    ['runtime/policy/x.ts', '@cedar-policy/cedar-wasm'],
    ['runtime/authserver/routes.ts', 'express'],
    ['runtime/http/x.ts', 'express'],
    ['runtime/authserver/storage/x.ts', 'ioredis'],
  ])('%s may import %s', async (file, name) => {
    expect(await refusals(file, importing(name))).toEqual([]);
  });
});

describe('size limits', () => {
  it.each([
    ['a file above 300 lines', 'max-lines', lines(301, (i) => `export const x${i} = 1;`)],
    ['a function above 50 lines', 'max-lines-per-function', `export function f() {\n${lines(51, () => 'f();')}\n}\n`],
    [
      'a function with more than 12 ways through',
      'complexity',
      `export function f(x: number) {\n${lines(12, (i) => `if (x === ${i}) f(x);`)}\n}\n`,
    ],
    [
      'blocks more than four deep',
      'max-depth',
      `export function f(x: number) {\n${'if (x) {'.repeat(5)}${'}'.repeat(5)}\n}\n`,
    ],
    ['a default export', 'no-restricted-syntax', 'export default 1;\n'],
    ['an expression of a module that keeps its place', 'no-restricted-syntax', 'export const x = /a/y;\n'],
    ['the environment outside of main.ts', 'no-restricted-properties', 'export const x = process.env.HOME;\n'],
  ])('reject %s', async (_what, rule, text) => {
    expect(await refusals('runtime/x.ts', text)).toContain(rule);
  });
});
