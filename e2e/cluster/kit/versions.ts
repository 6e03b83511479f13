import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A release of Kubernetes that can run the cluster tests. */
export interface KubernetesVersion {
  /** As in `E2E_KUBERNETES_VERSION`: `1.30`. */
  readonly name: string;
  /** The release itself, as go.mod names it: `v1.30.0`. */
  readonly release: string;
  /** Folder with go.mod and the sources of its programs. */
  readonly source: string;
  /** Folder of its programs, relative to the clusters' folder. */
  readonly programs: string;
  /** Node image for kind. Absent: kind's default. */
  readonly kindImage?: string;
  /** Feature gates of kube-proxy that later releases enable by default. */
  readonly proxyGates?: Readonly<Record<string, boolean>>;
}

/** All releases use etcd, CoreDNS, helm and the pause program of this one. */
export const USUAL = '1.36';

const VERSIONS: readonly Pick<KubernetesVersion, 'name' | 'kindImage' | 'proxyGates'>[] = [
  { name: '1.30', kindImage: 'kindest/node:v1.30.10', proxyGates: { NFTablesProxyMode: true } },
  { name: USUAL },
];

/** Returns the version of a module that the go.mod in a folder requires. */
export function moduleVersion(source: string, module: string): string {
  const file = join(source, 'go.mod');
  const [, version] = new RegExp(`^\\s*(?:require )?${module} (v\\S+)`, 'm').exec(readFileSync(file, 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${file} names no version of ${module}`);
  return version;
}

/** Returns all releases for the tests, the oldest first. */
export const allVersions = (): KubernetesVersion[] =>
  VERSIONS.map((version) => {
    const source = join(import.meta.dirname, version.name === USUAL ? 'kube' : `kube-${version.name}`);
    const programs = version.name === USUAL ? 'bin' : `bin-${version.name}`;
    return { ...version, source, programs, release: moduleVersion(source, 'k8s.io/kubernetes') };
  });

/** Returns the release with this name; unset or empty: the usual one. */
export function chooseVersion(asked: string | undefined): KubernetesVersion {
  const name = asked === undefined || asked === '' ? USUAL : asked;
  const found = allVersions().find((version) => version.name === name);
  if (found) return found;
  const names = VERSIONS.map((version) => version.name).join(' or ');
  throw new Error(`E2E_KUBERNETES_VERSION=${name}: the tests run on ${names}; set it to one of them, or unset it`);
}
