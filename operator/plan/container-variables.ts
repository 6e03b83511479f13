import { Stalled, Waiting } from '../errors.ts';
import type { LocalFacts } from '../snapshot.ts';
import { type Command, secretVariables } from './command-of-backend.ts';
import type { BackendSpec } from './find-group-members.ts';

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
export function passVariables(
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
export function envFileFlags(name: string, { envFileDir }: BackendSpec, { envFiles = {} }: LocalFacts): string[] {
  if (envFileDir === undefined) return [];
  const files = envFiles[name];
  if (files) return files.flatMap((file) => ['--env-file', file]);
  const message = `MCPServer "${name}" envFileDir ${envFileDir}: no folder that can be read, or with more than 64 files: make it, or remove envFileDir`;
  throw new Waiting('EnvFilesNotFound', message);
}
