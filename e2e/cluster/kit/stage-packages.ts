import { cpSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';

const Package = z.object({
  dependencies: z.record(z.string(), z.string()).default({}),
  peerDependencies: z.record(z.string(), z.string()).default({}),
});

/** Returns the folder in which a program in `from` finds a package, by Node's resolution; undefined: not installed. */
function findPackage(name: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(at) === at) return undefined;
  }
}

/** Copies installed packages with all their dependencies from one root to another. */
export function stagePackages(root: string, names: readonly string[], to: string): void {
  const found = new Set<string>();
  const left = names.map((name) => ({ name, from: root }));
  for (let next = left.pop(); next; next = left.pop()) {
    const folder = findPackage(next.name, next.from);
    if (folder === undefined || found.has(folder)) continue;
    found.add(folder);
    const { dependencies, peerDependencies } = Package.parse(
      JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
    );
    for (const name of Object.keys({ ...dependencies, ...peerDependencies })) left.push({ name, from: folder });
  }
  for (const folder of found) {
    // The loop finds packages below node_modules itself.
    const filter = (source: string) =>
      source === folder || !/\/node_modules$|\.(d\.ts|d\.cts|d\.mts|map)$/.test(source);
    cpSync(folder, join(to, relative(root, folder)), { recursive: true, filter });
  }
}
