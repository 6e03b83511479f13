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
