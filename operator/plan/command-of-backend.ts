import { Stalled, Waiting } from '../errors.ts';
import type { LocalFacts } from '../world.ts';
import type { KeyReference } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';

/** A program with what it is given. Values of secrets are not in it. */
export interface Command {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** Variable name to the Secret key with its value. */
export function secretVariables(spec: BackendSpec): Record<string, KeyReference> {
  const variables = (spec.secrets ?? []).map(
    ({ name, key, targetEnvName }) => [targetEnvName ?? key, { name, key }] as const,
  );
  return Object.fromEntries(variables);
}

/** Variables of a program: those that tell it where to listen, under the names in use, and then what is written. */
export function variablesOf(spec: BackendSpec, host: string, port: number | undefined): Record<string, string> {
  const listen: Record<string, string> =
    port === undefined ? {} : { PORT: String(port), MCP_PORT: String(port), HOST: host, MCP_HOST: host };
  const written = (spec.env ?? []).map(({ name, value }) => [name, value] as const);
  return { ...listen, ...Object.fromEntries(written) };
}

/** A process of this machine; `port` where it speaks HTTP. */
export function processCommand(command: string[], spec: BackendSpec, port: number | undefined): Command {
  const [program = '', ...rest] = command;
  return { command: program, args: [...rest, ...(spec.args ?? [])], env: variablesOf(spec, '127.0.0.1', port) };
}

/** `[address:][port here:]port there`. */
const PUBLISHED = /^(?:(\[.+\]|\d+(?:\.\d+){3}):)?(?:(\d+):)?(\d.*)$/;

/** As engines write it. What names no address is published on loopback: they would take all of them. */
function publishedAt(text: string): string {
  const [, address = '127.0.0.1', here = '', there = ''] = PUBLISHED.exec(text) ?? [];
  return `${address}:${here}:${there}`;
}

/** Ways into and out of the container besides the usual ones. */
function moreNetworkFlags({ publish = [], allowDockerGateway }: BackendSpec): string[] {
  return [
    ...publish.flatMap((text) => ['--publish', publishedAt(text)]),
    ...(allowDockerGateway ? ['--add-host', 'host.docker.internal:host-gateway'] : []),
  ];
}

function networkFlags(name: string, spec: BackendSpec, port: number | undefined, inside: number): string[] {
  const profile = spec.permissionProfile;
  if (profile?.type === 'configmap') {
    const message = `MCPServer "${name}": a permission profile of a ConfigMap is for clusters: write type builtin here`;
    throw new Stalled('UnsupportedPermissionProfile', message);
  }
  const none = profile?.name === 'none';
  const more = moreNetworkFlags(spec);
  if (none && more.length > 0) {
    const message = `MCPServer "${name}": permission profile none leaves no network for publish and allowDockerGateway: write network, or remove them`;
    throw new Stalled('UnsupportedPermissionProfile', message);
  }
  if (port === undefined) return none ? ['--network', 'none'] : more;
  if (!none) return ['--publish', `127.0.0.1:${port}:${inside}`, ...more];
  const message = `MCPServer "${name}": permission profile none leaves no way to its port: write network, or transport stdio`;
  throw new Stalled('UnsupportedPermissionProfile', message);
}

/** Variables of a container that its engine, or what loads that, would obey itself. */
const OF_ENGINES = new RegExp(
  `^(${[
    'PATH|HOME|TMPDIR|SHELL|GODEBUG|GOTRACEBACK|GOCOVERDIR|NOTIFY_SOCKET|SSH_AUTH_SOCK|NETAVARK_FW|_\\w*',
    '(LD|DYLD|XDG|DBUS|LISTEN|SSL_CERT|CONTAINERS|CONTAINERD|PODMAN|NERDCTL|BUILDAH|CNI)_\\w*',
    'DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS(_VERIFY)?|API_VERSION|CONTENT_TRUST\\w*|DEFAULT_PLATFORM|CLI_\\w*|AUTH_CONFIG)',
    'CONTAINER_(HOST|CONNECTION|SSHKEY|PROXY|TLS_\\w*)|STORAGE_(DRIVER|OPTS)|REGISTRY_AUTH_FILE',
  ].join('|')})$`,
);

/**
 * Variables go through the engine's own environment, so that no value stands in an argument list. One that the engine would obey is
 * written there; secrets under such names are refused.
 */
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

/** Those of the folder that is written, which may not be there yet. @throws Waiting */
function envFileFlags(name: string, { envFileDir }: BackendSpec, { envFiles = {} }: LocalFacts): string[] {
  if (envFileDir === undefined) return [];
  const files = envFiles[name];
  if (files) return files.flatMap((file) => ['--env-file', file]);
  const message = `MCPServer "${name}" envFileDir ${envFileDir}: no folder that can be read, or with more than 64 files: make it, or remove envFileDir`;
  throw new Waiting('EnvFilesNotFound', message);
}

/**
 * A container of this machine, without capabilities. `port` is that of this machine, where it speaks HTTP. Throws `Stalled` for what the
 * engine is not to be given, `Waiting` for files that are not there.
 */
export function containerCommand(
  engine: NonNullable<LocalFacts['containerEngine']>,
  name: string,
  spec: BackendSpec,
  port: number | undefined,
  local: LocalFacts,
): Command {
  const inside = spec.mcpPort ?? 8080;
  const variables = variablesOf(spec, '0.0.0.0', port === undefined ? undefined : inside);
  const { flags: passed, env } = passVariables(name, variables, spec);
  const volumes = (spec.volumes ?? []).flatMap(({ hostPath, mountPath, readOnly }) => [
    '--volume',
    `${hostPath}:${mountPath}${readOnly ? ':ro' : ''}`,
  ]);
  const confined = ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const network = networkFlags(name, spec, port, inside);
  const files = envFileFlags(name, spec, local);
  const flags = ['run', '--rm', '--init', '--interactive', ...confined, ...network, ...files, ...passed, ...volumes];
  return { command: engine, args: [...flags, spec.image ?? '', ...(spec.args ?? [])], env };
}
