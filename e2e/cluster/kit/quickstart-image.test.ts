import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../../..');
const DOCKERFILE = 'examples/quickstart/Dockerfile';
const FOLDER = 'examples/quickstart';
const MANIFESTS = [
  'examples/quickstart/backends.yaml',
  'examples/quickstart-cluster/identity-providers.yaml',
  'charts/vmcp/templates/demo/demo.yaml',
];

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
/** Paths that the Dockerfile copies under their name in the repository. */
const copied = [...read(DOCKERFILE).matchAll(/^COPY (\S+) \1$/gm)].map(([, path = '']) => path);
const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, object>;
const installed = Object.keys({ ...dependencies, ...devDependencies });
const isCopied = (path: string) =>
  copied.some((folder) => path.startsWith(`${folder}/`)) && existsSync(join(ROOT, path));
const isInstalled = (path: string) => installed.some((name) => path.startsWith(`node_modules/${name}/`));

/** Programs that manifests start in the image, relative to the root of the repository. */
const programs = MANIFESTS.flatMap((file) =>
  [...read(file).matchAll(/(?:\.{1,2}\/|\/app\/)[\w@./-]+\.[jt]s\b/g)].map(([path]) =>
    posix.relative('/app', posix.resolve(posix.join('/app', FOLDER), path)),
  ),
);

/** Returns `[file, import]` for all copied programs. */
function importsBelow(folder: string): [file: string, name: string][] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) =>
      [...read(`${folder}/${file}`).matchAll(/^(?:import|export)[^;]*? from '([^']+)';/gms)].map(
        ([, name = '']): [string, string] => [`${folder}/${file}`, name],
      ),
    );
}

describe('the Dockerfile of the quickstart', () => {
  it('copies existing paths that its ignore file admits', () => {
    expect(copied).toEqual(['e2e/fakes', 'examples/quickstart/on-host']);
    const ignored = read(`${DOCKERFILE}.dockerignore`);
    for (const path of copied) expect(ignored).toContain(`!${path}\n`);
    expect(read(DOCKERFILE)).toContain(`WORKDIR /app/${FOLDER}\n`);
  });

  it('includes every program that the quickstart and the demo of the chart start', () => {
    expect(programs.length).toBeGreaterThan(10);
    expect(programs.filter((path) => !isCopied(path) && !isInstalled(path))).toEqual([]);
  });

  it('includes the imports of those programs', () => {
    const all = copied.flatMap(importsBelow);
    expect(all.length).toBeGreaterThan(50);
    const missing = all.filter(([file, name]) => {
      if (name.startsWith('node:')) return false;
      return name.startsWith('.') ? !isCopied(posix.join(dirname(file), name)) : !isInstalled(`node_modules/${name}/`);
    });
    expect(missing).toEqual([]);
  });
});
