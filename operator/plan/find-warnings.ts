import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { World } from '../world.ts';
import type { ServerSpec } from './render-run-config.ts';
import type { Finding } from './summarise-status.ts';

const warning = (type: string, reason: string, message: string): Finding => ({ type, status: 'True', reason, message });

/** With an authorization server of its own and no policy, whoever has an account at the provider is let in. */
function openToEveryAccount(document: RunConfigDocument): Finding[] {
  if (!document.embedded_auth_server_config || document.authz) return [];
  const shared = document.backends
    .filter(({ auth }) => auth?.type === 'header_injection' || auth?.type === 'bearer_token')
    .map(({ name }) => name);
  const everybody = 'Every account of the upstream provider gets in: write incomingAuth.authzConfig with policies.';
  const message =
    shared.length === 0
      ? everybody
      : `${everybody} All of them act under one shared credential at: ${shared.join(', ')}.`;
  return [warning('OpenToEveryAccount', shared.length === 0 ? 'NoPolicy' : 'NoPolicyAndSharedCredential', message)];
}

/** Settings of backends that are not in the group: a misspelt name would otherwise do nothing in silence. */
function unknownNames(spec: ServerSpec, members: string[]): Finding[] {
  const { aggregation, operational } = spec.config;
  const places: [string, string[]][] = [
    ['config.aggregation.tools', aggregation?.tools?.map(({ workload }) => workload) ?? []],
    [
      'config.aggregation.conflictResolutionConfig.priorityOrder',
      aggregation?.conflictResolutionConfig?.priorityOrder ?? [],
    ],
    ['config.operational.timeouts.perWorkload', Object.keys(operational?.timeouts.perWorkload ?? {})],
    ['outgoingAuth.backends', Object.keys(spec.outgoingAuth.backends ?? {})],
  ];
  const unknown = places.flatMap(([place, names]) =>
    names.filter((name) => !members.includes(name)).map((name) => `${place} "${name}"`),
  );
  if (unknown.length === 0) return [];
  const message = `No MCPServer of group "${spec.config.groupRef}" has the name in ${unknown.join(', ')}: correct or remove it.`;
  return [warning('UnknownBackendNames', 'NotInGroup', message)];
}

function emptyGroup(spec: ServerSpec, members: string[]): Finding[] {
  if (members.length > 0) return [];
  const message = `Group "${spec.config.groupRef}" has no MCPServer: write groupRef: ${spec.config.groupRef} in the MCPServers that belong to it.`;
  return [warning('EmptyGroup', 'NoBackends', message)];
}

/** Memory is lost when a pod is replaced; on one machine that is what people expect. */
function sessionsInMemory(document: RunConfigDocument, world: World): Finding[] {
  if (world.platform.mode === 'local' || document.session_storage?.type !== 'memory') return [];
  const message = 'Sessions are lost when the pod is replaced: write sessionStorage.provider redis to keep them.';
  return [warning('SessionsInMemory', 'MemoryStorage', message)];
}

/** What is served all the same and an administrator should know. Each message says what to do. */
export function findWarnings(
  spec: ServerSpec,
  document: RunConfigDocument,
  members: string[],
  world: World,
): Finding[] {
  return [
    ...openToEveryAccount(document),
    ...emptyGroup(spec, members),
    ...unknownNames(spec, members),
    ...sessionsInMemory(document, world),
  ];
}
