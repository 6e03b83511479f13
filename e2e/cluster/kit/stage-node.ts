import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Writes the files of an image with Node and a shell, the base of the project's images, from files of this machine. */
export function stageNode(root: string): void {
  stageShell(root);
  copyWithLibraries(process.execPath, '/usr/local/bin/node', root);
}

/** Writes the same without Node. */
export function stageShell(root: string): void {
  for (const folder of ['bin', 'etc', 'tmp']) mkdirSync(join(root, folder), { recursive: true });
  const busybox = realpathSync(execFileSync('which', ['busybox'], { encoding: 'utf8' }).trim());
  copyFileSync(busybox, join(root, 'bin/busybox'));
  const names = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  for (const name of names) if (name !== 'busybox') symlinkSync('busybox', join(root, 'bin', name));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnonroot:x:65532:65532::/app:/bin/sh\n');
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  chmodSync(join(root, 'tmp'), 0o1777);
  chmodSync(root, 0o755);
}

/** Copies an ELF file, and the libraries that the loader lists for it. */
export function copyWithLibraries(from: string, to: string, root: string): void {
  const copy = (source: string, path: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    copyFileSync(realpathSync(source), join(root, path));
    chmodSync(join(root, path), 0o755);
  };
  copy(from, to);
  const said = execFileSync('ldd', [from], { encoding: 'utf8' });
  for (const [library] of said.matchAll(/\/\S+/g)) copy(library, library);
}
