// Bundles the programs into dist/, all or those that are named, their dependencies included: one large file starts in half the
// time of hundreds of small ones. Cedar stays outside, as it loads its WebAssembly from beside its own file.
import { readdir, rm } from 'node:fs/promises';
import { build, type Plugin } from 'esbuild';

const root = new URL('..', import.meta.url).pathname;
const startedAt = Date.now();
const PROGRAMS: Record<string, string> = {
  vmcp: 'cli/main.ts',
  runtime: 'runtime/main.ts',
  attach: 'runtime/attach/main.ts',
  operator: 'operator/main.ts',
  management: 'management/main.ts',
};
const named = process.argv.slice(2);
const unknown = named.find((name) => !(name in PROGRAMS));
if (unknown !== undefined) throw new Error(`there is no program ${unknown}: write ${Object.keys(PROGRAMS).join(', ')}`);

/** Leaves out what is only reachable by name: together it would be 5 MB of resident memory in each process. */
const lean: Plugin = {
  name: 'lean',
  setup(bundling) {
    bundling.onResolve({ filter: /^undici$/ }, ({ importer }) =>
      // The Kubernetes client takes proxies and fetch of it, too.
      importer.includes('/@kubernetes/client-node/') ? null : { path: `${root}scripts/undici-parts.ts` },
    );
    // Imported as a module it is asked for all that it exports, which loads all of fetch and WebSocket.
    bundling.onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'http', namespace: 'lean' } : null,
    );
    bundling.onLoad({ filter: /^http$/, namespace: 'lean' }, () => ({
      contents: "module.exports = process.getBuiltinModule('node:http');",
    }));
    bundling.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: Object.fromEntries(
    Object.entries(PROGRAMS).filter(([name]) => named.length === 0 || named.includes(name)),
  ),
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  external: ['@cedar-policy/*'],
  // Its other form loads parts of itself in a way that cannot be bundled.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  plugins: [lean],
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  sourcemap: true,
  metafile: true,
  logLevel: 'warning',
  // Bundled CommonJS modules ask for Node's own modules by require.
  banner: {
    js: "import { createRequire as createRequireHere } from 'node:module'; const require = createRequireHere(import.meta.url);",
  },
});

// Chunks of former builds go only now, as a program that is running may still load one.
const made = new Set(Object.keys(metafile.outputs).map((path) => path.replace(/^dist\//, '')));
for (const file of await readdir(`${root}dist`)) {
  if (!made.has(file)) await rm(`${root}dist/${file}`, { recursive: true });
}
console.log(`dist: ${made.size} files in ${Date.now() - startedAt} ms`);
