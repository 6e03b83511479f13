import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { faultOfNode } from './check-node.ts';

const ROOT = join(import.meta.dirname, '..');

it.each(['20.20.2', '22.18.9', '18.0.0'])('reports a Node version that is too old: %s', (version) => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } };
  const [, oldest = ''] = /^>=([\d.]+)$/.exec(engines.node) ?? [];
  expect(faultOfNode(version)).toMatch(new RegExp(`needs Node ${oldest.replace('.', '\\.')} .* this is ${version}: `));
});

it.each(['22.19.0', '24.1.0', '25.0.0-nightly'])('accepts a supported Node version: %s', (version) => {
  expect(faultOfNode(version)).toBeUndefined();
});

it('runs before the modules that an old Node cannot load', async () => {
  const main = join(ROOT, 'cli/main.ts');
  const options = {
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    write: false,
    metafile: true,
  } as const;
  const { metafile } = await build({
    ...options,
    absWorkingDir: ROOT,
    entryPoints: { vmcp: main },
    outdir: join(dirname(main), 'never-written'),
    packages: 'external',
    logLevel: 'error',
  });
  const atOnce = (file: string): string[] =>
    (metafile.outputs[file]?.imports ?? [])
      .filter(({ kind }) => kind === 'import-statement')
      .flatMap(({ path }) => (isBuiltin(path) || !(path in metafile.outputs) ? [path] : atOnce(path)));
  const entry = Object.keys(metafile.outputs).find((file) => file.endsWith('/vmcp.js')) ?? '';
  expect(metafile.outputs[entry]?.entryPoint).toBe('cli/main.ts');
  expect(atOnce(entry)).toEqual([]);
});
