import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { run } from '../cluster/run-program.ts';
import { isInstalled } from '../redis/is-installed.ts';

/** Maps each program to the Debian package that contains it. */
const PROGRAMS: Record<string, string> = {
  podman: 'podman',
  buildah: 'buildah',
  runc: 'runc',
  catatonit: 'catatonit',
  busybox: 'busybox-static',
  iptables: 'iptables',
};
const MINUTE = 60_000;

// Limits that root can set without a further capability, and control groups that every kernel has.
const CONTAINERS = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
init_path = "/usr/bin/catatonit"
`;
const POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}';

/** Podman and buildah of this machine, with separate images and containers. They pull no image. */
export interface Containers {
  /** Temporary: closing the containers removes it. */
  readonly folder: string;
  /** Variables that point podman and buildah to these images and containers. */
  readonly env: Record<string, string>;
  /** Runs podman. Returns its output. @throws if podman fails */
  readonly podman: (args: readonly string[]) => Promise<string>;
  /** Runs buildah. Returns its output. @throws if buildah fails */
  readonly buildah: (args: readonly string[], how?: { cwd?: string; deadline?: number }) => Promise<string>;
  /** Loads an archive of images. */
  readonly load: (archive: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

function whyNone(more: Record<string, string>): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root';
  const packages = Object.entries({ ...PROGRAMS, ...more }).flatMap(([program, name]) =>
    isInstalled(program) ? [] : [name],
  );
  return packages.length === 0 ? undefined : `apt-get install ${packages.join(' ')}`;
}

/** Declares tests that need containers and the programs of `more`. Skips them with the reason if the machine has none. */
export function describeWithContainers(name: string, tests: () => void, more: Record<string, string> = {}): void {
  const missing = whyNone(more);
  if (missing === undefined) {
    describe(name, tests);
    return;
  }
  const why = `skipped: no containers here; ${missing}`;
  process.stderr.write(`${name}: ${why}\n`);
  describe.skip(`${name} (${why})`, tests);
}

export function openContainers(): Containers {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-containers-'));
  const inside = (name: string) => join(folder, name);
  const storage = `[storage]\ndriver = "overlay"\ngraphroot = "${inside('storage')}"\nrunroot = "${inside('run')}"\n`;
  mkdirSync(inside('run'));
  writeFileSync(inside('storage.conf'), storage);
  writeFileSync(inside('containers.conf'), CONTAINERS);
  writeFileSync(inside('policy.json'), POLICY);
  const env = { CONTAINERS_CONF: inside('containers.conf'), CONTAINERS_STORAGE_CONF: inside('storage.conf') };
  const podman = (args: readonly string[]) => run('podman', args, { env, deadline: MINUTE });
  return {
    folder,
    env,
    podman,
    buildah: (args, how) => run('buildah', args, { env, deadline: MINUTE, ...how }),
    async load(archive) {
      await podman(['load', '--quiet', '--signature-policy', inside('policy.json'), '--input', archive]);
    },
    async close() {
      await podman(['rm', '--all', '--force', '--time', '0']);
      await run('buildah', ['rm', '--all'], { env });
      await podman(['rmi', '--all', '--force']);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
