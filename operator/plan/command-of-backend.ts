import type { KeyReference } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';

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
