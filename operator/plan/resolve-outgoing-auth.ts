import { MCPExternalAuthConfig, transportOf } from '#crds/kinds/index';
import type { OutgoingAuth } from '#crds/parts/outgoing-auth';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled, Waiting } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import type { FileList } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';
import type { AuthType } from './finding.ts';
import { ownValue } from './own-value.ts';
import { readSpec } from './read-resource.ts';
import type { Reach } from './reach-backend.ts';
import { renderCredential, type AuthDocument } from './render-credential.ts';
import { type LoginOptions, renderRemoteAuth } from './render-remote-auth.ts';

export interface ResolvedAuth {
  /** Type of the MCPExternalAuthConfig, for users; `unauthenticated` if there is none. */
  authType: AuthType;
  auth: AuthDocument;
  place: string;
}

export interface OutgoingContext {
  outgoing: OutgoingAuth;
  /** Boundary 1 of the same document, which identifies the callers in the policies of MCPServers. */
  incoming: RunConfigDocument['incoming'];
  /** Whether a user has the same subject at each login. True without an authorization server in the document. */
  usersAreNamed: boolean;
  /** The document is an MCPServer's own endpoint. */
  byItself: boolean;
  providers: string[];
  login: LoginOptions;
  snapshot: Snapshot;
}

const NONE: ResolvedAuth = { authType: 'unauthenticated', auth: { type: 'unauthenticated' }, place: 'auth' };

/** Selects the MCPServer's own authentication, a named one, or none. With `inline`, an unlisted backend gets only a written default. */
function choiceFor(name: string, outgoing: OutgoingAuth): 'own' | { name: string } | undefined {
  if (outgoing.source === 'discovered') return 'own';
  const entry = ownValue(outgoing.backends, name) ?? outgoing.default;
  return entry?.type === 'discovered' ? 'own' : entry?.externalAuthConfigRef;
}

function ownToken(
  name: string,
  auth: NonNullable<BackendSpec['remoteAuth']>,
  { login, snapshot }: Pick<OutgoingContext, 'login' | 'snapshot'>,
  files: FileList,
): ResolvedAuth {
  const authType = 'remoteAuth';
  const place = `MCPServer "${name}" remoteAuth`;
  const reference = auth.bearerTokenSecretRef;
  if (!reference) return { authType, place, auth: renderRemoteAuth(name, auth, login, snapshot, files) };
  const file = files.headerValue(reference, `${place}.bearerTokenSecretRef`);
  return { authType, place, auth: { type: 'bearer_token', token_file: file } };
}

/** @throws Stalled or Waiting; the backend is then left out and never contacted unauthenticated */
export function resolveOutgoingAuth(
  name: string,
  spec: BackendSpec,
  reach: Reach,
  context: OutgoingContext,
  files: FileList,
): ResolvedAuth {
  const { outgoing, providers, byItself, incoming, snapshot } = context;
  const choice = choiceFor(name, outgoing);
  if (choice === 'own' && spec.remoteAuth) return ownToken(name, spec.remoteAuth, context, files);
  const reference = (choice === 'own' ? spec.externalAuthConfigRef : choice)?.name;
  if (reference === undefined) return NONE;
  const manifest = snapshot.mcpExternalAuthConfigs[reference];
  if (!manifest) {
    const message = `MCPExternalAuthConfig "${reference}" does not exist: create it`;
    throw new Waiting('AuthConfigNotFound', message);
  }
  const config = readSpec(MCPExternalAuthConfig, manifest);
  checkAllowed(name, spec, reach, reference, config);
  const auth = renderCredential(reference, config, { providers, byItself, incoming }, files);
  return { authType: config.type, auth, place: `MCPExternalAuthConfig "${reference}" ${config.type}` };
}

const DEFAULT_PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' };

/** Returns whether `host`, `host:port` or `*.suffix` matches a URL. A pattern without a port matches all ports. */
export function hostMatches(pattern: string, url: string): boolean {
  const { hostname, port, protocol } = new URL(url);
  const [, host = '', wantedPort] = /^(.*?)(?::(\d+))?$/.exec(pattern.toLowerCase()) ?? [];
  if (wantedPort !== undefined && wantedPort !== (port || DEFAULT_PORTS[protocol])) return false;
  return host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host;
}

/** Prevents a tenant from joining a group with their own URL and another's configuration to receive every caller's tokens. */
function checkAllowed(
  name: string,
  spec: BackendSpec,
  reach: Reach,
  reference: string,
  { type, allowedServers, allowedHosts }: MCPExternalAuthConfig['spec'],
): void {
  if (allowedServers && !allowedServers.includes(name)) {
    const message = `MCPExternalAuthConfig "${reference}" is not for this server: add "${name}" to its allowedServers, or refer to another`;
    throw new Stalled('ServerNotAllowed', message);
  }
  if (type === 'unauthenticated') return;
  if (reach.transport === 'stdio' || (spec.remoteUrl === undefined && transportOf(spec) === 'stdio')) {
    const message = `MCPExternalAuthConfig "${reference}" of type ${type} needs HTTP, and transport stdio has no headers: give it secrets, or another transport`;
    throw new Stalled('StdioHasNoCredentials', message);
  }
  if (!allowedHosts || allowedHosts.some((pattern) => hostMatches(pattern, reach.url))) return;
  const { host } = new URL(reach.url);
  const message = `MCPExternalAuthConfig "${reference}" may not be sent to ${host}: add it to its allowedHosts, or refer to another`;
  throw new Stalled('HostNotAllowed', message);
}
