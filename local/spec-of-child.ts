import { join } from 'node:path';
import { inheritedVariables } from '#crds/parts/inherited-variables';
import type { SecretSource } from '#operator/plan/outcome';
import type { LocalChild } from './children.ts';
import { removeContainers } from './containers.ts';
import type { ProcessSpec } from './run-process.ts';
import { RUNTIME_ENVIRONMENT } from './runtime-node-options.ts';
import { RUN_CONFIG_FILE } from './write-rendered.ts';

/** Seconds for current calls; the runtime is killed soon after. */
const DRAIN = '2';

interface ChildDeps {
  runtime: string[];
  /** Paths in commands are relative to the manifests' folder. */
  folder: string;
  environment: NodeJS.ProcessEnv;
  valueOf: (source: SecretSource) => string;
}

/** Removes the operator's secrets and the password of the encrypted file: a runtime reads files instead. */
function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('VMCP_SECRET')));
}

/** `configDirectory` is the folder of the runtime's document. */
export function specOfChild(child: LocalChild, configDirectory: string | undefined, deps: ChildDeps): ProcessSpec {
  const { folder: directory, environment } = deps;
  if (child.role === 'runtime') {
    if (configDirectory === undefined) throw new Error(`${child.name} has no run configuration`);
    const [command = '', ...first] = deps.runtime;
    const args = [...first, '--config', join(configDirectory, RUN_CONFIG_FILE), '--drain', DRAIN];
    return {
      name: child.name,
      command,
      args,
      env: { ...RUNTIME_ENVIRONMENT, ...withoutSecrets(environment) },
      directory,
      tellsFailure: true,
    };
  }
  const secrets = Object.entries(child.secretEnv).map(([name, source]) => [name, deps.valueOf(source)] as const);
  const env = { ...inheritedVariables(environment), ...child.env, ...Object.fromEntries(secrets) };
  const { name, command, args, container } = child;
  const cleanUp = container && { cleanUp: () => removeContainers(container, environment) };
  return { name, command, args, env, directory, ...cleanUp };
}
