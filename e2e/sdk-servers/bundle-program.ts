import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

/** The path stays the same, so that Node finds the compiled program of earlier runs. */
const FOLDER = join(import.meta.dirname, '../../node_modules/.cache/test-programs');
/** Bundled CommonJS modules load Node's own modules with require. */
const REQUIRE = "import { createRequire as createOne } from 'node:module'; const require = createOne(import.meta.url);";

const bundled = new Map<string, string>();

/**
 * Returns the path of a bundle of the program beside this file. The SDKs are hundreds of modules, whose loading costs a third of a second
 * of CPU for each process. Each process of the tests bundles a program once, so a bundle is never older than its sources.
 */
export function bundleProgram(name: string): string {
  const known = bundled.get(name);
  if (known !== undefined) return known;
  const file = join(FOLDER, `${name}.mjs`);
  const { outputFiles } = buildSync({
    entryPoints: [join(import.meta.dirname, `${name}.ts`)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    banner: { js: REQUIRE },
  });
  mkdirSync(FOLDER, { recursive: true });
  // Other processes write and start it too.
  const written = `${file}.${process.pid}`;
  writeFileSync(written, outputFiles[0]?.contents ?? '');
  renameSync(written, file);
  bundled.set(name, file);
  return file;
}
