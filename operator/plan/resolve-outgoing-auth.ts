import { MCPExternalAuthConfig } from '#crds/kinds/index';
import type { OutgoingAuth } from '#crds/parts/outgoing-auth';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Waiting } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import type { FileList } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';
import { checkAllowed } from './check-allowed.ts';
import { ownValue } from './own-value.ts';
import { readSpec } from './read-resource.ts';
import { type Reach } from './reach-backend.ts';
import { renderCredential, type AuthDocument } from './render-credential.ts';
import { type LoginPlace, renderRemoteAuth } from './render-remote-auth.ts';

export interface ResolvedAuth {
  /** Type of the MCPExternalAuthConfig, for users; `unauthenticated` if there is none. */
  authType: string;
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
  login: LoginPlace;
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
