// Bundles the named programs, or all, into dist/ with their dependencies: one large file starts in half the time of hundreds of small ones.
// Cedar is not bundled, as it loads its WebAssembly from the folder of its own file.
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

/** Drops modules that are only reachable by name: together they would take 5 MB of resident memory per process. */
const lean: Plugin = {
  name: 'lean',
  setup(bundling) {
    bundling.onResolve({ filter: /^undici$/ }, ({ importer }) =>
      // The Kubernetes client also uses proxies and fetch of undici.
      importer.includes('/@kubernetes/client-node/') ? null : { path: `${root}scripts/undici-parts.ts` },
    );
    // Importing it as a module evaluates all its exports, which loads fetch and WebSocket.
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
  // Its other form loads parts in a way that cannot be bundled.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
  plugins: [lean],
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'linked',
  sourcemap: true,
  metafile: true,
  logLevel: 'warning',
  // Bundled CommonJS modules load Node's own modules with require.
  banner: {
    js: "import { createRequire as createRequireHere } from 'node:module'; const require = createRequireHere(import.meta.url);",
  },
});

// Removes chunks of former builds last, as a running program may still load one.
const made = new Set(Object.keys(metafile.outputs).map((path) => path.replace(/^dist\//, '')));
for (const file of await readdir(`${root}dist`)) {
  if (!made.has(file)) await rm(`${root}dist/${file}`, { recursive: true });
}
console.log(`dist: ${made.size} files in ${Date.now() - startedAt} ms`);
