import { addressRange, PermissionProfileDocument } from '#crds/parts/permission-profile';
import { Stalled } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import type { BackendSpec } from './find-group-members.ts';
import { readBlock, readConfigMapBlock } from './read-config-map-block.ts';

export interface Egress {
  /** CIDRs. */
  addresses: string[];
  /** TCP ports. Empty: all. */
  ports: number[];
  /** Any address, still limited by `ports`. */
  everywhere: boolean;
}

interface HostFolder {
  hostPath: string;
  mountPath: string;
  readOnly: boolean;
}

export interface Permissions {
  /** Undefined: the profile does not mention the network. */
  egress?: Egress;
  /** Host names, which a cluster cannot enforce: a NetworkPolicy has no field for them. */
  unenforced: string[];
  folders: HostFolder[];
  privileged: boolean;
}

const OPEN: Permissions = { unenforced: [], folders: [], privileged: false };
const CLOSED: Egress = { addresses: [], ports: [], everywhere: false };

function readEgress(network: PermissionProfileDocument['network']): Pick<Permissions, 'egress' | 'unenforced'> {
  const { allow_host: hosts = [], allow_port: ports = [], insecure_allow_all: all = false } = network?.outbound ?? {};
  if (all) return { unenforced: [] };
  const unenforced = hosts.filter((host) => addressRange(host) === undefined);
  const addresses = hosts.flatMap((host) => addressRange(host) ?? []);
  // Ports alone mean any address. So does a host name, because its addresses are unknown here.
  const everywhere = unenforced.length > 0 || (hosts.length === 0 && ports.length > 0);
  return { egress: { addresses, ports, everywhere }, unenforced };
}

/** Network modes that are served. All but `none` mean the default network. */
export const NETWORK_MODES: readonly string[] = ['none', 'default', 'bridge', ''];

/** Returns whether a network mode turns the network off. Rejects modes that leave the confinement. */
function isOff(name: string, mode = 'default'): boolean {
  if (NETWORK_MODES.includes(mode)) return mode === 'none';
  const message = `MCPServer "${name}" permissionProfile: network.mode "${mode}" is not served: write none, or leave it out`;
  throw new Stalled('UnsupportedPermissionProfile', message);
}

function folder(text: string, readOnly: boolean): HostFolder {
  const [hostPath = '', mountPath = hostPath] = text.split(':');
  return { hostPath, mountPath, readOnly };
}

export const readProfile = (text: string) => readBlock(PermissionProfileDocument, text);

function readDocument(name: string, document: PermissionProfileDocument): Permissions {
  const { allow_host: inbound } = document.network?.inbound ?? {};
  if (inbound && inbound.length > 0) {
    const message = `MCPServer "${name}" permissionProfile: network.inbound cannot be enforced, as only vmcp reaches it: remove it`;
    throw new Stalled('UnsupportedPermissionProfile', message);
  }
  const folders = [
    ...(document.read ?? []).map((text) => folder(text, true)),
    ...(document.write ?? []).map((text) => folder(text, false)),
  ];
  const egress = isOff(name, document.network?.mode)
    ? { egress: CLOSED, unenforced: [] }
    : readEgress(document.network);
  return { ...egress, folders, privileged: document.privileged ?? false };
}

/** Returns the permission profile of a program. @throws Waiting for a missing ConfigMap; Stalled for an invalid one */
export function readPermissionProfile(name: string, spec: BackendSpec, snapshot: Snapshot): Permissions {
  const profile = spec.permissionProfile;
  if (!profile) return OPEN;
  if (profile.type === 'builtin') return profile.name === 'none' ? { ...OPEN, egress: CLOSED } : OPEN;
  const reference = { name: profile.name, key: profile.key ?? '' };
  const field = `MCPServer "${name}" permissionProfile`;
  const document = readConfigMapBlock(readProfile, reference, field, 'InvalidPermissionProfile', snapshot);
  return readDocument(name, document);
}
