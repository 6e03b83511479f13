import { addressRange, PermissionProfileDocument } from '#crds/parts/permission-profile';
import { Stalled } from '../errors.ts';
import type { World } from '../world.ts';
import type { BackendSpec } from './find-group-members.ts';
import { readBlock, readConfigMapBlock } from './read-config-map-block.ts';

/** What a program may reach. */
export interface Egress {
  /** CIDRs. */
  addresses: string[];
  /** TCP ports; none: all. */
  ports: number[];
  /** Any address; `ports` still count. */
  everywhere: boolean;
}

interface HostFolder {
  hostPath: string;
  mountPath: string;
  readOnly: boolean;
}

/** A permission profile as a program can be held to it. */
export interface Permissions {
  /** Undefined: nothing is said about the network. */
  egress?: Egress;
  /** Host names, which a cluster cannot hold it to: no NetworkPolicy can name them. */
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
  // Ports alone mean any address. So does a host name: what it stands for is not known here.
  const everywhere = unenforced.length > 0 || (hosts.length === 0 && ports.length > 0);
  return { egress: { addresses, ports, everywhere }, unenforced };
}

/** Modes of a network that are served; all but `none` mean the usual network. */
export const NETWORK_MODES: readonly string[] = ['none', 'default', 'bridge', ''];

/** What the mode of a network says beside its addresses: the usual one, or none at all. Another one leads out of confinement. */
function isOff(name: string, mode = 'default'): boolean {
  if (NETWORK_MODES.includes(mode)) return mode === 'none';
  const message = `MCPServer "${name}" permissionProfile: network.mode "${mode}" is not served: write none, or leave it out`;
  throw new Stalled('UnsupportedPermissionProfile', message);
}

function folder(text: string, readOnly: boolean): HostFolder {
  const [hostPath = '', mountPath = hostPath] = text.split(':');
  return { hostPath, mountPath, readOnly };
}

/** What a text of a ConfigMap says. */
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

/** The permission profile of a program. Throws `Waiting` for a missing ConfigMap, `Stalled` for one that is not valid. */
export function readPermissionProfile(name: string, spec: BackendSpec, world: World): Permissions {
  const profile = spec.permissionProfile;
  if (!profile) return OPEN;
  if (profile.type === 'builtin') return profile.name === 'none' ? { ...OPEN, egress: CLOSED } : OPEN;
  const reference = { name: profile.name, key: profile.key ?? '' };
  const field = `MCPServer "${name}" permissionProfile`;
  const document = readConfigMapBlock(readProfile, reference, field, 'InvalidPermissionProfile', world);
  return readDocument(name, document);
}
