import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One release of Kubernetes on which the tests of a cluster can run. */
export interface KubernetesVersion {
  /** As `E2E_KUBERNETES_VERSION` has it: `1.30`. */
  readonly name: string;
  /** The release itself, as go.mod names it: `v1.30.0`. */
  readonly release: string;
  /** Folder with go.mod and the sources of its programs. */
  readonly source: string;
  /** Folder of its programs below that of the clusters. */
  readonly programs: string;
  /** The image of a node that kind starts. Absent: the one that kind comes with. */
  readonly kindImage?: string;
  /** Feature gates of kube-proxy that later releases have open. */
  readonly proxyGates?: Readonly<Record<string, boolean>>;
}

/** Of which etcd, CoreDNS, helm and the pause program are taken for all others too. */
export const USUAL = '1.36';

const VERSIONS: readonly Pick<KubernetesVersion, 'name' | 'kindImage' | 'proxyGates'>[] = [
  { name: '1.30', kindImage: 'kindest/node:v1.30.10', proxyGates: { NFTablesProxyMode: true } },
  { name: USUAL },
];

/** Version of a module that the go.mod in a folder asks for. */
export function moduleVersion(source: string, module: string): string {
  const file = join(source, 'go.mod');
  const [, version] = new RegExp(`^\\s*(?:require )?${module} (v\\S+)`, 'm').exec(readFileSync(file, 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${file} names no version of ${module}`);
  return version;
}

/** All on which the tests can run, the oldest first. */
export const allVersions = (): KubernetesVersion[] =>
  VERSIONS.map((version) => {
    const source = join(import.meta.dirname, version.name === USUAL ? 'kube' : `kube-${version.name}`);
    const programs = version.name === USUAL ? 'bin' : `bin-${version.name}`;
    return { ...version, source, programs, release: moduleVersion(source, 'k8s.io/kubernetes') };
  });

/** The release that is asked for, by its name; unset or empty asks for the usual one. */
export function chooseVersion(asked: string | undefined): KubernetesVersion {
  const name = asked === undefined || asked === '' ? USUAL : asked;
  const found = allVersions().find((version) => version.name === name);
  if (found) return found;
  const names = VERSIONS.map((version) => version.name).join(' or ');
  throw new Error(`E2E_KUBERNETES_VERSION=${name}: the tests run on ${names}; set it to one of them, or unset it`);
}
