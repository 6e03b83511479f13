import { randomBytes } from 'node:crypto';
import type { RuntimeStatus } from '#crds/run-config/runtime-status';
import type { AuthServerStatus } from '#runtime/authserver/auth-server';
import type { FollowedRunConfig } from '#runtime/follow-run-config';
import type { BackendSnapshot, StatusSnapshot } from '#runtime/http/status-snapshot';
import { describeUnknownBackends, describeUnknownPolicyNames } from '#runtime/mcp/aggregate/unknown-policy-names';
import type { Backend } from '#runtime/mcp/backends/backend';
import { APPS, CORE_TASKS, TASKS } from '#runtime/mcp/extensions';
import { countCalls, showHealth } from '#runtime/mcp/backends/show-health';
import type { Authorizer } from '#runtime/policy/authorizer';
import type { SharedLogin } from '#runtime/remote-login/shared-login';
import type { Services } from '#runtime/services';

interface StatusSources {
  readonly followed: Pick<FollowedRunConfig, 'current' | 'refused' | 'files'>;
  readonly services: () => Services;
  readonly traces: { readonly warnings: readonly string[] };
  readonly auditProblem: () => string | undefined;
  readonly ready: () => boolean;
  readonly draining: () => boolean;
  /** Returns the URL at which a login at a remote server begins; undefined: not at this process. */
  readonly loginUrl: (login: SharedLogin) => string | undefined;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Starts counting the uptime. Returns a function that takes one snapshot for `/status`. */
export function createStatus(sources: StatusSources): () => StatusSnapshot {
  const { followed, now, version } = sources;
  const startedAt = now();
  // Without a shared token as key, the fingerprints only show whether a file has changed.
  const ownKey = randomBytes(32).toString('hex');
  return () => {
    const services = sources.services();
    const { config, digest } = followed.current;
    const tokenFile = config.status_token_file;
    const key = tokenFile === undefined ? ownKey : firstLine(followed.files.read(tokenFile));
    return {
      server: config.server,
      version,
      config_digest: digest,
      config_refused: refusalOf(followed),
      ready: sources.ready(),
      draining: sources.draining(),
      warnings: [...sources.traces.warnings, ...listOf(sources.auditProblem()), ...warningsOf(followed, services)],
      tools: services.catalogues.toolCount(),
      backends: services.backends.all.map((backend) => ({
        ...backendSnapshot(backend, sources),
        ...extensionsOf(backend, services),
      })),
      sessions: services.sessions.size,
      sessions_by_revision: sessionsByRevision(services),
      streams: openStreams(services),
      buffered: bufferedIn(services),
      uptime_seconds: Math.round((now() - startedAt) / 1000),
      secret_files: followed.files.fingerprints(key),
    };
  };
}

export function authServerSnapshot(status: AuthServerStatus | undefined): RuntimeStatus['auth_server'] {
  if (status === undefined) return null;
  const { storage, signingKeys, secrets, secretsInUse, sizes, unacknowledged, redirectUris } = status;
  return {
    storage,
    signing_keys: { ...signingKeys, kids: [...signingKeys.kids] },
    secrets: { ...secrets, kids: [...secrets.kids] },
    secrets_in_use: secretsInUse ?? null,
    sizes: sizes ?? null,
    unacknowledged,
    redirect_uris: redirectUris,
  };
}

/** Counts the open streams of sessions that are not answers to requests. */
export function openStreams({ sessions }: Services): number {
  let open = 0;
  for (const session of sessions.all()) if (session.stream !== undefined) open++;
  return open;
}

function sessionsByRevision({ sessions }: Services): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { profile } of sessions.all()) counts[profile.revision] = (counts[profile.revision] ?? 0) + 1;
  return counts;
}

export function bufferedIn({ bufferedBytes: { used, limit, waiting } }: Services): StatusSnapshot['buffered'] {
  return { bytes: used, limit_bytes: limit, waiting };
}

function refusalOf({ refused }: StatusSources['followed']): StatusSnapshot['config_refused'] {
  return refused === undefined ? null : { at: new Date(refused.at).toISOString(), message: refused.message };
}

function warningsOf(
  { refused }: StatusSources['followed'],
  { authServer, authorizer, backends, catalogues, rateLimits, sessions }: Services,
): string[] {
  const stale =
    refused === undefined ? [] : [`a newer run configuration was refused; an older one is active: ${refused.message}`];
  // Warnings of the authenticator are omitted: they follow from the configuration, whose author and the log already report them.
  const services = [authServer, sessions].flatMap((part) => part?.warnings ?? []);
  return [
    ...stale,
    ...services,
    ...backends.warnings,
    ...backends.all.flatMap(({ warnings = [] }) => warnings),
    ...policyWarnings('incomingAuth.authzConfig', authorizer),
    ...backends.all.flatMap((backend) => policyWarnings(`authzConfig of ${backend.name}`, backend.authorizer)),
    ...catalogues.warnings(),
    ...describeUnknownBackends(
      'incomingAuth.authzConfig',
      authorizer.names,
      backends.all.map(({ name }) => name),
    ),
    ...describeUnknownPolicyNames('incomingAuth.authzConfig', authorizer.names, (kind, isOriginal) =>
      catalogues.all(kind)?.map(({ name, originalName }) => (isOriginal ? originalName : name)),
    ),
    ...(rateLimits?.findUnknown(catalogues.all('tools')) ?? []),
  ];
}

const listOf = (text: string | undefined): string[] => (text === undefined ? [] : [text]);

function policyWarnings(place: string, authorizer: Authorizer | undefined): string[] {
  return (authorizer?.warnings ?? []).map((warning) => `${place}: ${warning}`);
}

/** A server may have apps without offering the extension: the SDK's do. */
function extensionsOf({ name, health }: Backend, { catalogues }: Services): Pick<BackendSnapshot, 'extensions'> {
  const offered = Object.values(health.capabilities?.extensions ?? {}).flat();
  const hasTasks = offered.includes(TASKS) || offered.includes(CORE_TASKS);
  const hasApps = offered.includes(APPS) || catalogues.apps.has(name);
  return hasTasks || hasApps ? { extensions: [...(hasTasks ? ['tasks'] : []), ...(hasApps ? ['apps'] : [])] } : {};
}

function backendSnapshot(backend: Backend, { loginUrl }: Pick<StatusSources, 'loginUrl'>): BackendSnapshot {
  const { name, credential, health, breaker } = backend;
  const { sharedLogin: login } = credential;
  const { inFlight, queued, oldest } = countCalls(backend);
  return {
    login_url: login === undefined || health.phase === 'ready' ? null : (loginUrl(login) ?? null),
    name,
    ...showHealth(backend),
    breaker: breaker.state,
    calls: { in_flight: inFlight, queued, oldest_seconds: Math.round(oldest / 1000) },
    tools: health.tools,
    prompts: health.prompts,
    resources: health.resources,
    auth_type: credential.authType,
    revisions: health.revisions,
    last_probe: health.lastProbe === undefined ? null : new Date(health.lastProbe).toISOString(),
    last_transition_time: new Date(health.lastTransition).toISOString(),
  };
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
