import { MCPExternalAuthConfig } from '#crds/kinds/index';
import { readValue } from '#crds/parts/read-value';
import { valueAt } from '#crds/parts/rule';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { Snapshot } from '../snapshot.ts';
import { findAuthServerWarnings } from './find-auth-server-warnings.ts';
import { findIgnoredSettings } from './find-ignored-settings.ts';
import { verdictOf } from './resolve-authz.ts';
import type { ServerSpec } from './server-spec.ts';
import type { Finding } from './finding.ts';
import { ownValue } from './own-value.ts';

const warning = (type: string, reason: string, message: string): Finding => ({ type, status: 'True', reason, message });

function emptyGroup(spec: ServerSpec, members: string[]): Finding[] {
  if (members.length > 0) return [];
  const message = `Group "${spec.config.groupRef}" has no MCPServer: write groupRef: ${spec.config.groupRef} in the MCPServers that belong to it.`;
  return [warning('EmptyGroup', 'NoBackends', message)];
}

/** Warns of memory storage in a cluster, which is lost with the pod. On one machine users expect that loss. */
function lostWithThePod(document: RunConfigDocument, snapshot: Snapshot): Finding[] {
  if (snapshot.platform.mode === 'local') return [];
  if (document.session_storage?.type !== 'memory') return [];
  const message = 'Sessions are lost when the pod is replaced: write sessionStorage.provider redis to keep them.';
  return [warning('LostWithThePod', 'SessionsInMemory', message)];
}

const STREAMS_OF_CLIENTS =
  'A stream of proxyMode sse lives at one replica, and a message that reaches another is refused: write sessionAffinity: ClientIP or replicas: 1, or let clients use /mcp.';

/** Warns of event streams with several replicas. One replica holds a stream; the others open their own for the same client. */
function streamsOfReplicas(spec: ServerSpec, document: RunConfigDocument): Finding[] {
  const streamed = document.backends.filter(({ transport }) => transport === 'sse').map(({ name }) => name);
  const replicas = spec.autoscaling?.maxReplicas ?? spec.replicas ?? 1;
  if (replicas <= 1 || spec.sessionAffinity === 'ClientIP') return [];
  if (spec.proxyMode === 'sse') return [warning('SessionsPerReplica', 'SseEndpoint', STREAMS_OF_CLIENTS)];
  if (streamed.length === 0) return [];
  const message = `Each replica has streams of its own to ${streamed.join(', ')} (transport sse), so what these servers remember of a session is known to one replica only: write sessionAffinity: ClientIP or replicas: 1, or use their streamable-http endpoints.`;
  return [warning('SessionsPerReplica', 'SseBackends', message)];
}

/** Warns of user limits with anonymous callers: they share one limit. */
function usersUnknown(document: RunConfigDocument): Finding[] {
  if (document.incoming.type !== 'anonymous') return [];
  const places = [
    { name: 'rateLimiting', limits: document.rate_limiting },
    ...document.backends.map(({ name, rate_limiting: limits }) => ({
      name: `MCPServer "${name}" rateLimiting`,
      limits,
    })),
  ];
  const counted = places.filter(({ limits }) => limits && countsUsers(limits)).map(({ name }) => name);
  if (counted.length === 0) return [];
  const message = `All callers are one user here, as nobody logs in: what ${counted.join(', ')} says of each user holds for all together. Write incomingAuth.type oidc, or a limit of scope global.`;
  return [warning('UsersNotTold', 'Anonymous', message)];
}

const countsUsers = ({ rules = [], per_user: perUser, tools = [] }: NonNullable<RunConfigDocument['rate_limiting']>) =>
  perUser !== undefined ||
  rules.some(({ scope }) => scope === 'user') ||
  tools.some(({ per_user: each }) => each !== undefined);

/** Warns of a token file in a cluster. Pods mount only the files that the operator renders, so a file from elsewhere is missing. */
function tokenOfKeySet({ incoming }: RunConfigDocument, { platform }: Snapshot): Finding[] {
  const file = incoming.type === 'oidc' ? incoming.jwks_auth_token_file : undefined;
  if (file === undefined || platform.mode === 'local') return [];
  const message = `Nothing of the operator brings ${file} into the pods, nor may podTemplateSpec: where no admission webhook of the cluster does, new pods do not start, and those that run keep the former configuration. Remove jwksAuthTokenPath, and write a jwksUrl that needs no token.`;
  return [warning('KeySetNeedsToken', 'NotMounted', message)];
}

/** Returns whether policies decide about every call, those of the server or of each backend. Mode `audit` denies nothing. */
function hasPolicies({ authz, backends }: RunConfigDocument): boolean {
  const isEnforced = (one: RunConfigDocument['authz']) => one !== undefined && one.mode !== 'audit';
  return isEnforced(authz) || (backends.length > 0 && backends.every((backend) => isEnforced(backend.authz)));
}

const LOGIN_NEEDED = 'write incomingAuth.type oidc, or a policy that does not ask for it';

/** Warns of policies that never apply. The runtime warns in the same words, so `runtimeFindings` drops the duplicate. */
function neverApplying({ authz, backends, incoming }: RunConfigDocument, snapshot: Snapshot): Finding[] {
  const places = [
    { place: 'incomingAuth.authzConfig', set: authz },
    ...backends.map((backend) => ({ place: `authzConfig of ${backend.name}`, set: backend.authz })),
  ];
  const found = places.flatMap(({ place, set }) => {
    if (!set) return [];
    const texts = { policies: set.policies, entitiesJson: set.entities_json ?? '[]' };
    const { warnings, loginReads } = verdictOf(texts, snapshot);
    const reads = incoming.type === 'anonymous' ? loginReads : [];
    return [...warnings, ...reads.map((text) => `${text}: ${LOGIN_NEEDED}`)].map((text) => `${place}: ${text}`);
  });
  return found.length === 0 ? [] : [warning('PolicyNeverApplies', 'ImpossibleCondition', found.join('; '))];
}

function nothingAudited({ audit_config: audit }: RunConfigDocument): Finding[] {
  if (audit?.enabled !== true || audit.eventTypes?.length !== 0) return [];
  const message = 'audit.eventTypes is an empty list, so no event is recorded: name event types, or remove it for all.';
  return [warning('NothingAudited', 'NoEventTypes', message)];
}

/** Login writes wait for a replica's acknowledgement; session writes do not. */
function acknowledgedByNone({ session_storage: sessions, backends }: RunConfigDocument): Finding[] {
  if (sessions?.type !== 'redis' || sessions.redis.require_replica_ack !== true) return [];
  if (backends.some(({ auth }) => auth?.type === 'remote_auth')) return [];
  const message =
    'sessionStorage.redis.requireReplicaAck: sessions are kept without waiting for a replica, and no backend logs in by remoteAuth: remove it, or write it under authServerConfig.storage.redis';
  return [warning('ReplicaAckIgnored', 'SessionsOnly', message)];
}

const REMEDY = 'write incomingAuth.type oidc for all but development.';

function withoutAuthentication(document: RunConfigDocument): Finding[] {
  if (document.incoming.type !== 'anonymous') return [];
  if (!hasPolicies(document))
    return [warning('Anonymous', 'NoAccessControl', `Anybody who reaches the endpoint may call every tool: ${REMEDY}`)];
  const message = `Anybody who reaches the endpoint may do what the policies permit Client::"anonymous": ${REMEDY}`;
  return [warning('Anonymous', 'NoAuthentication', message)];
}

export function findWarnings(
  spec: ServerSpec,
  document: RunConfigDocument,
  members: string[],
  snapshot: Snapshot,
): Finding[] {
  return [
    ...withoutAuthentication(document),
    ...findAuthServerWarnings(document),
    ...findUnboundCredentials(spec, members, snapshot),
    ...emptyGroup(spec, members),
    ...findIgnoredSettings(spec, members, snapshot),
    ...lostWithThePod(document, snapshot),
    ...streamsOfReplicas(spec, document),
    ...usersUnknown(document),
    ...tokenOfKeySet(document, snapshot),
    ...nothingAudited(document),
    ...acknowledgedByNone(document),
    ...neverApplying(document, snapshot),
  ];
}

function goesAnywhere(reference: string, snapshot: Snapshot): boolean {
  const manifest = snapshot.mcpExternalAuthConfigs[reference];
  if (!manifest) return false;
  const read = readValue(MCPExternalAuthConfig, manifest);
  return 'data' in read && read.data.spec.type !== 'unauthenticated' && !read.data.spec.allowedHosts;
}

function givenTo({ outgoingAuth }: ServerSpec, members: string[], snapshot: Snapshot): Map<string, string[]> {
  const given = new Map<string, string[]>();
  for (const name of members) {
    const reference = (ownValue(outgoingAuth.backends, name) ?? outgoingAuth.default)?.externalAuthConfigRef?.name;
    if (reference === undefined) continue;
    if (valueAt(snapshot.mcpServers[name]?.spec, ['externalAuthConfigRef', 'name']) === reference) continue;
    given.set(reference, [...(given.get(reference) ?? []), name]);
  }
  return given;
}

/** Finds credentials for backends that do not name them: without a right to them, a writer of the MCPServer decides their destination. */
function findUnboundCredentials(spec: ServerSpec, members: string[], snapshot: Snapshot): Finding[] {
  if (snapshot.platform.mode === 'local' || spec.outgoingAuth.source !== 'inline') return [];
  const given = givenTo(spec, members, snapshot);
  const anywhere = [...given].filter(([reference]) => goesAnywhere(reference, snapshot));
  if (anywhere.length === 0) return [];
  const list = anywhere.map(([reference, names]) => `MCPExternalAuthConfig "${reference}" to ${names.join(', ')}`);
  const message =
    `outgoingAuth gives ${list.join('; ')}, which do not name it themselves: whoever may write an MCPServer of the group decides where ` +
    `these credentials go. Write allowedHosts on it, or externalAuthConfigRef in those MCPServers.`;
  return [{ type: 'CredentialsUnbound', status: 'True', reason: 'NoAllowedHosts', message }];
}
