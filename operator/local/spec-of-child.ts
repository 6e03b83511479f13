import { join } from 'node:path';
import type { SecretSource } from '#operator/plan/outcome';
import type { LocalChild } from './children.ts';
import type { ProcessSpec } from './run-process.ts';
import { RUN_CONFIG_FILE } from './write-rendered.ts';

/** What a backend gets of vmcp's own environment: what programs need to run at all, never what may hold a secret. */
const INHERITED = [
  'PATH HOME USER LOGNAME SHELL TERM LANG LC_ALL TZ TMPDIR',
  'HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE',
  'XDG_RUNTIME_DIR DOCKER_HOST CONTAINER_HOST CONTAINERS_CONF CONTAINERS_STORAGE_CONF',
].flatMap((line) => line.split(' '));

/** Seconds that a runtime has to finish the calls under way; it is killed soon after. */
const DRAIN = '2';

interface ChildSurroundings {
  /** The runtime's program with its first arguments. */
  runtime: string[];
  /** Folder of the manifests: paths in commands are relative to it. */
  folder: string;
  environment: NodeJS.ProcessEnv;
  valueOf: (source: SecretSource) => string;
}

function inherited(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    INHERITED.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
}

/** The operator's own: secrets of the environment, and the password of the encrypted ones. A runtime reads files. */
function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('VMCP_SECRET')));
}

/** How a child of the plan is started. `configDirectory`: where the runtime finds its document. */
export function specOfChild(
  child: LocalChild,
  configDirectory: string | undefined,
  around: ChildSurroundings,
): ProcessSpec {
  const { folder: directory, environment } = around;
  if (child.role === 'runtime') {
    if (configDirectory === undefined) throw new Error(`${child.name} has no run configuration`);
    const [command = '', ...first] = around.runtime;
    const args = [...first, '--config', join(configDirectory, RUN_CONFIG_FILE), '--drain', DRAIN];
    return { name: child.name, command, args, env: withoutSecrets(environment), directory };
  }
  const secrets = Object.entries(child.secretEnv).map(([name, source]) => [name, around.valueOf(source)] as const);
  const env = { ...inherited(environment), ...child.env, ...Object.fromEntries(secrets) };
  return { name: child.name, command: child.command, args: child.args, env, directory };
}
