import { Stalled } from '../errors.ts';
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

function networkFlags(name: string, spec: BackendSpec, port: number | undefined, inside: number): string[] {
  const profile = spec.permissionProfile;
  if (profile?.type === 'configmap') {
    const message = `MCPServer "${name}": a permission profile of a ConfigMap is for clusters: write type builtin here`;
    throw new Stalled('UnsupportedPermissionProfile', message);
  }
  const none = profile?.name === 'none';
  if (port === undefined) return none ? ['--network', 'none'] : [];
  if (!none) return ['--publish', `127.0.0.1:${port}:${inside}`];
  const message = `MCPServer "${name}": permission profile none leaves no way to its port: write network, or transport stdio`;
  throw new Stalled('UnsupportedPermissionProfile', message);
}

/**
 * A container of this machine, without capabilities. Variables go through the engine's own environment, so that no value
 * stands in an argument list. `port` is that of this machine, where it speaks HTTP.
 */
export function containerCommand(
  engine: NonNullable<LocalFacts['containerEngine']>,
  name: string,
  spec: BackendSpec,
  port: number | undefined,
): Command {
  const inside = spec.mcpPort ?? 8080;
  const env = variablesOf(spec, '0.0.0.0', port === undefined ? undefined : inside);
  const passed = [...Object.keys(env), ...Object.keys(secretVariables(spec))].flatMap((variable) => [
    '--env',
    variable,
  ]);
  const volumes = (spec.volumes ?? []).flatMap(({ hostPath, mountPath, readOnly }) => [
    '--volume',
    `${hostPath}:${mountPath}${readOnly ? ':ro' : ''}`,
  ]);
  const confined = ['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const network = networkFlags(name, spec, port, inside);
  const flags = ['run', '--rm', '--init', '--interactive', ...confined, ...network, ...passed, ...volumes];
  return { command: engine, args: [...flags, spec.image ?? '', ...(spec.args ?? [])], env };
}
