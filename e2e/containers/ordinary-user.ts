import { chownSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../cluster/run-program.ts';
import type { Containers } from './open-containers.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAME = 'vmcp-test';
/** Id of the user and its group, and the first id of its containers. */
const ID = 23_456;
const CONTAINED = '1000000:65536';
const CONFIGURED = ['containers.conf', 'storage.conf', 'policy.json'];

/** A user without rights on this machine. Only commands that `as` starts know this user. */
export interface OrdinaryUser {
  readonly id: number;
  /** A program with its arguments that runs the command after it as this user. */
  readonly as: readonly [string, ...string[]];
  /** A folder with the files of the checkout that this user can read. */
  readonly checkout: string;
  /** Home folder of this user. */
  readonly home: string;
  readonly podman: (args: readonly string[]) => Promise<string>;
  readonly load: (archive: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Creates a user with a podman separate from root's. Changes no file of this machine: the mount namespace of each command replaces the user
 * and group files.
 */
export function openOrdinaryUser({ folder }: Containers): OrdinaryUser {
  const inside = (name: string) => join(folder, 'user', name);
  const [home, checkout] = [inside('home'), inside('checkout')];
  for (const path of [inside(''), home, checkout, join(home, 'run'), join(home, 'containers')]) {
    mkdirSync(path, { recursive: true, mode: 0o755 });
  }
  const files = {
    passwd: `${readFileSync('/etc/passwd', 'utf8')}${NAME}:x:${ID}:${ID}::${home}:/bin/sh\n`,
    group: `${readFileSync('/etc/group', 'utf8')}${NAME}:x:${ID}:\n`,
    subuid: `${NAME}:${CONTAINED}\n`,
    subgid: `${NAME}:${CONTAINED}\n`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(inside(name), text);
  for (const name of CONFIGURED) cpSync(join(folder, name), join(home, name));
  const storage = {
    graphroot: 'containers/storage',
    rootless_storage_path: 'containers/storage',
    runroot: 'run/storage',
  };
  const places = Object.entries(storage).map(([name, path]) => `${name} = "${join(home, path)}"\n`);
  writeFileSync(join(home, 'storage.conf'), `[storage]\ndriver = "overlay"\n${places.join('')}`);
  for (const path of ['', 'run', 'containers']) chownSync(join(home, path), ID, ID);
  const mounts = Object.keys(files).map((name) => `mount --bind '${inside(name)}' /etc/${name}`);
  const steps = [
    ...mounts,
    `mount --bind '${ROOT}' '${checkout}'`,
    `exec setpriv --reuid ${ID} --regid ${ID} --clear-groups "$@"`,
  ];
  const env = [
    ...[`HOME=${home}`, `XDG_RUNTIME_DIR=${join(home, 'run')}`, `USER=${NAME}`],
    ...[`CONTAINERS_CONF=${join(home, 'containers.conf')}`, `CONTAINERS_STORAGE_CONF=${join(home, 'storage.conf')}`],
  ];
  const [program, ...before] = ['unshare', '--mount', 'sh', '-c', steps.join(' && '), 'sh', 'env', ...env] as const;
  const podman = (args: readonly string[]) => run(program, [...before, 'podman', ...args], { cwd: home });
  return {
    ...{ id: ID, as: [program, ...before] as const, checkout, home, podman },
    async load(archive) {
      await podman(['load', '--quiet', '--signature-policy', join(home, 'policy.json'), '--input', archive]);
    },
    async close() {
      await podman(['rm', '--all', '--force', '--time', '0']);
      // Ends the process that holds the user's namespaces.
      await podman(['system', 'migrate']);
    },
  };
}
