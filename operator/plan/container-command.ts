import { readQuantity } from '#crds/parts/quantity';
import { Stalled } from '../errors.ts';
import type { ContainerEngine, LocalFacts, World } from '../world.ts';
import { backendChild } from './child-names.ts';
import { type Command, variablesOf } from './command-of-backend.ts';
import { envFileFlags, passVariables } from './container-variables.ts';
import type { BackendSpec } from './find-group-members.ts';
import { type Permissions, readPermissionProfile } from './read-permission-profile.ts';

/** Port that a program in a container listens on where `mcpPort` is not written. */
const CONTAINER_PORT = 8080;

/** By which the containers of all programs of a namespace are found; `directory` is `LocalFacts.directory`. */
export const folderLabel = (directory: string): string => `vmcp.dev/folder=${directory}`;

/** By which the containers of one program are found. */
export function containerLabels(name: string, { directory }: LocalFacts): string[] {
  return [folderLabel(directory), `vmcp.dev/server=${backendChild(name)}`];
}

/** `[address:][port here:]port there`. */
const PUBLISHED = /^(?:(\[.+\]|\d+(?:\.\d+){3}):)?(?:(\d+):)?(\d.*)$/;

/** As engines write it. What names no address is published on loopback: they would take all of them. */
function publishedAt(text: string): string {
  const [, address = '127.0.0.1', here = '', there = ''] = PUBLISHED.exec(text) ?? [];
  return `${address}:${here}:${there}`;
}

/** podman gives the name by itself, and before it did it needed an address. */
function gatewayFlags(
  engine: ContainerEngine,
  { allowDockerGateway }: BackendSpec,
  { hostAddress }: LocalFacts,
): string[] {
  const address = engine === 'podman' ? hostAddress : 'host-gateway';
  return allowDockerGateway && address !== undefined ? ['--add-host', `host.docker.internal:${address}`] : [];
}

/** The network, if any, is all or nothing here. */
function networkFlags(
  name: string,
  spec: BackendSpec,
  { egress }: Permissions,
  port: number | undefined,
  inside: number,
): string[] {
  const none = egress && !egress.everywhere && egress.addresses.length === 0;
  const more = (spec.publish ?? []).flatMap((text) => ['--publish', publishedAt(text)]);
  const refuse = (what: string) => {
    throw new Stalled(
      'UnsupportedPermissionProfile',
      `MCPServer "${name}": a permission profile without network ${what}`,
    );
  };
  if (none && (more.length > 0 || spec.allowDockerGateway))
    refuse('leaves none for publish and allowDockerGateway: let it have network, or remove them');
  if (port === undefined) return none ? ['--network', 'none'] : more;
  if (none) refuse('leaves no way to its port: let it have network, or write transport stdio');
  return ['--publish', `127.0.0.1:${port}:${inside}`, ...more];
}

function volumeFlags(name: string, spec: BackendSpec, { folders }: Permissions): string[] {
  return [...(spec.volumes ?? []), ...folders].flatMap(({ hostPath, mountPath, readOnly }) => {
    if (`${hostPath}${mountPath}`.includes(':')) {
      const message = `MCPServer "${name}": ${hostPath} cannot be mounted at ${mountPath}, as an engine takes ":" for the end of a path: write paths without it`;
      throw new Stalled('UnsupportedVolume', message);
    }
    return ['--volume', `${hostPath}:${mountPath}${readOnly ? ':ro' : ''}`];
  });
}

/** Requests mean nothing where nobody divides a machine. */
function limitFlags({ resources }: BackendSpec): string[] {
  const { memory, cpu } = resources?.limits ?? {};
  const flag = (option: string, value: unknown, round: (number: number) => number) => {
    const number = readQuantity(value);
    return value === undefined || number === undefined ? [] : [option, String(round(number))];
  };
  return [...flag('--memory', memory, Math.floor), ...flag('--cpus', cpu, (cpus) => Math.round(cpus * 1000) / 1000)];
}

/**
 * A container of this machine, without capabilities. `port` is that of this machine, where it speaks HTTP. Throws `Waiting` for a
 * ConfigMap or files that are not there, `Stalled` for what an engine cannot do.
 */
export function containerCommand(
  engine: ContainerEngine,
  name: string,
  spec: BackendSpec,
  port: number | undefined,
  local: LocalFacts,
  world: World,
): Command {
  const permissions = readPermissionProfile(name, spec, world);
  const inside = spec.mcpPort ?? CONTAINER_PORT;
  const variables = variablesOf(spec, '0.0.0.0', port === undefined ? undefined : inside);
  const { flags, env } = passVariables(name, variables, spec);
  const confined = permissions.privileged
    ? ['--privileged']
    : ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const args = [
    ...['run', '--rm', '--init', '--interactive', ...confined],
    ...containerLabels(name, local).flatMap((label) => ['--label', label]),
    ...networkFlags(name, spec, permissions, port, inside),
    ...gatewayFlags(engine, spec, local),
    ...limitFlags(spec),
    ...envFileFlags(name, spec, local),
    ...flags,
    ...volumeFlags(name, spec, permissions),
    ...[spec.image ?? '', ...(spec.args ?? [])],
  ];
  return { command: engine, args, env };
}
