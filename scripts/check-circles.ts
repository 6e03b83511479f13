import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const SOURCES = '{crds,lib,operator,local,management,cli,runtime,e2e,scripts,examples}/**/*.ts';

/** Returns the files of this repository that a file imports, including types and `import()`. */
function importsOf(root: string, file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), 'utf8'));
  return importedFiles.flatMap(({ fileName }) => {
    if (fileName.startsWith('#')) return [`${fileName.slice(1)}.ts`];
    return fileName.startsWith('.') ? [join(file, '..', fileName)] : [];
  });
}

/** Finds circular imports. Returns one line for each circle that the walk reaches. */
export function checkCircles(root: string): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const path = new Set<string>();
  const imports = new Map(globSync(SOURCES, { cwd: root }).map((file) => [file, importsOf(root, file)]));
  const walk = (file: string): void => {
    if (path.has(file)) circles.push(describe(path, file));
    if (done.has(file)) return;
    done.add(file);
    path.add(file);
    for (const imported of imports.get(file) ?? []) walk(imported);
    path.delete(file);
  };
  for (const file of [...imports.keys()].sort()) walk(file);
  return circles;
}

function describe(path: ReadonlySet<string>, first: string): string {
  const files = [...path];
  return `import circle: ${[...files.slice(files.indexOf(first)), first].join(' -> ')}; move what they share to a lower file`;
}
