import { readQuantity } from '#crds/parts/quantity';
import { Stalled, Waiting } from '../errors.ts';
import type { ContainerEngine, LocalFacts, Snapshot } from '../snapshot.ts';
import { backendChild } from './child-names.ts';
import type { KeyReference } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';
import { type Permissions, readPermissionProfile } from './read-permission-profile.ts';

/** Default of `mcpPort`: the port of a program in a container. */
const CONTAINER_PORT = 8080;

/** Label of the containers of all programs of a namespace. `directory` is `LocalFacts.directory`. */
export const folderLabel = (directory: string): string => `vmcp.dev/folder=${directory}`;

export function containerLabels(name: string, { directory }: LocalFacts): string[] {
  return [folderLabel(directory), `vmcp.dev/server=${backendChild(name)}`];
}

/** `[address:][port here:]port there`. */
const PUBLISHED = /^(?:(\[.+\]|\d+(?:\.\d+){3}):)?(?:(\d+):)?(\d.*)$/;

/** Returns the engine's form. A port without an address is published on loopback only; engines would publish it on all addresses. */
function publishedAt(text: string): string {
  const [, address = '127.0.0.1', here = '', there = ''] = PUBLISHED.exec(text) ?? [];
  return `${address}:${here}:${there}`;
}

/** podman resolves the gateway name by itself; older versions need an address. */
function gatewayFlags(
  engine: ContainerEngine,
  { allowDockerGateway }: BackendSpec,
  { hostAddress }: LocalFacts,
): string[] {
  const address = engine === 'podman' ? hostAddress : 'host-gateway';
  return allowDockerGateway && address !== undefined ? ['--add-host', `host.docker.internal:${address}`] : [];
}

/** Container engines on one machine give the network or none. */
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

/** Ignores requests: they have no effect on one machine. */
function limitFlags({ resources }: BackendSpec): string[] {
  const { memory, cpu } = resources?.limits ?? {};
  const flag = (option: string, value: unknown, round: (number: number) => number) => {
    const number = readQuantity(value);
    return value === undefined || number === undefined ? [] : [option, String(round(number))];
  };
  return [...flag('--memory', memory, Math.floor), ...flag('--cpus', cpu, (cpus) => Math.round(cpus * 1000) / 1000)];
}

/** Grants no capabilities. `port`: host port for HTTP. @throws Waiting for a missing ConfigMap or file; Stalled for unsupported fields */
export function containerCommand(
  engine: ContainerEngine,
  name: string,
  spec: BackendSpec,
  port: number | undefined,
  local: LocalFacts,
  snapshot: Snapshot,
): Command {
  const permissions = readPermissionProfile(name, spec, snapshot);
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

/** Variables that the engine, or its loader, would itself obey. */
const OF_ENGINES = new RegExp(
  `^(${[
    'PATH|HOME|TMPDIR|SHELL|GODEBUG|GOTRACEBACK|GOCOVERDIR|NOTIFY_SOCKET|SSH_AUTH_SOCK|NETAVARK_FW|_\\w*',
    '(LD|DYLD|XDG|DBUS|LISTEN|SSL_CERT|CONTAINERS|CONTAINERD|PODMAN|NERDCTL|BUILDAH|CNI)_\\w*',
    'DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS(_VERIFY)?|API_VERSION|CONTENT_TRUST\\w*|DEFAULT_PLATFORM|CLI_\\w*|AUTH_CONFIG)',
    'CONTAINER_(HOST|CONNECTION|SSHKEY|PROXY|TLS_\\w*)|STORAGE_(DRIVER|OPTS)|REGISTRY_AUTH_FILE',
  ].join('|')})$`,
);

/** Keeps values out of argument lists, except of variables that the engine itself obeys. @throws Stalled for a secret under such a name */
function passVariables(
  name: string,
  env: Record<string, string>,
  spec: BackendSpec,
): Pick<Command, 'env'> & { flags: string[] } {
  const secrets = Object.keys(secretVariables(spec));
  const refused = secrets.find((variable) => OF_ENGINES.test(variable));
  if (refused !== undefined) {
    const message = `MCPServer "${name}" secrets: ${refused} is a variable that container engines obey themselves: give it another targetEnvName`;
    throw new Stalled('VariableOfEngine', message);
  }
  const written = Object.entries(env).map(([variable, value]) =>
    OF_ENGINES.test(variable) ? `${variable}=${value}` : variable,
  );
  const passed = Object.entries(env).filter(([variable]) => !OF_ENGINES.test(variable));
  return { flags: [...written, ...secrets].flatMap((one) => ['--env', one]), env: Object.fromEntries(passed) };
}

/** Returns the flags for files in the written folder, which may not exist yet. @throws Waiting */
function envFileFlags(name: string, { envFileDir }: BackendSpec, { envFiles = {} }: LocalFacts): string[] {
  if (envFileDir === undefined) return [];
  const files = envFiles[name];
  if (files) return files.flatMap((file) => ['--env-file', file]);
  const message = `MCPServer "${name}" envFileDir ${envFileDir}: no folder that can be read, or with more than 64 files: make it, or remove envFileDir`;
  throw new Waiting('EnvFilesNotFound', message);
}

export interface Command {
  command: string;
  args: string[];
  env: Record<string, string>;
}

export function secretVariables(spec: BackendSpec): Record<string, KeyReference> {
  const variables = (spec.secrets ?? []).map(
    ({ name, key, targetEnvName }) => [targetEnvName ?? key, { name, key }] as const,
  );
  return Object.fromEntries(variables);
}

/** Returns the variables of a program: listen address and port under the common names, then the written ones. */
export function variablesOf(spec: BackendSpec, host: string, port: number | undefined): Record<string, string> {
  const listen: Record<string, string> =
    port === undefined ? {} : { PORT: String(port), MCP_PORT: String(port), HOST: host, MCP_HOST: host };
  const written = (spec.env ?? []).map(({ name, value }) => [name, value] as const);
  return { ...listen, ...Object.fromEntries(written) };
}

/** Returns the command of a process on this machine. `port`: set if it speaks HTTP. */
export function processCommand(command: string[], spec: BackendSpec, port: number | undefined): Command {
  const [program = '', ...rest] = command;
  return { command: program, args: [...rest, ...(spec.args ?? [])], env: variablesOf(spec, '127.0.0.1', port) };
}
