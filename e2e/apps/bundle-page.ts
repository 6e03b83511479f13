import { join } from 'node:path';
import { build } from 'esbuild';

/** Returns a script of this folder and its imports as one module that may stand in a page. */
export async function bundlePage(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, file)],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    minify: true,
    write: false,
    logLevel: 'error',
  });
  return (outputFiles[0]?.text ?? '').replaceAll('</script', String.raw`<\/script`);
}
