import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import { type BackendPaths, checkBackendDocument, problemInOwnFields } from './check-document.ts';
import { findProgramProblem } from './check-port.ts';
import { checkBackendServed } from './check-served.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';
import type { AuthType } from './finding.ts';
import { shownUrlOf, reachBackend } from './reach-backend.ts';
import { renderKubernetesIssuer } from './render-issuer.ts';
import { renderRateLimiting } from './render-operational.ts';
import { checkCallersNamed, resolveAuthz, type ResolvedAuthz } from './resolve-authz.ts';
import { resolveIssuer } from './resolve-issuer.ts';
import { type OutgoingContext, resolveOutgoingAuth } from './resolve-outgoing-auth.ts';

export type BackendDocument = RunConfigDocument['backends'][number];
type WebhookDocument = NonNullable<BackendDocument['webhooks']>[number];
type Webhook = NonNullable<NonNullable<BackendSpec['webhooks']>['validating']>[number];

interface RenderedBackend {
  entry: BackendDocument;
  url: string;
  authType: AuthType;
}

/** Renders a webhook for the run configuration. `place` names the MCPServer in messages. @throws Waiting */
export function renderWebhook(webhook: Webhook, place: string, files: FileList): WebhookDocument {
  const field = `${place} webhooks.validating "${webhook.name}"`;
  const { tls } = webhook;
  const { clientCertSecretRef: certificateRef, clientKeySecretRef: keyRef } = tls ?? {};
  const hmac = webhook.hmacSecretRef && files.credential(webhook.hmacSecretRef, field);
  const [certificate, key] = certificateRef && keyRef ? files.pair(certificateRef, keyRef, field) : [];
  return defined({
    name: webhook.name,
    url: webhook.url,
    timeout: webhook.timeout,
    failure_policy: webhook.failurePolicy,
    hmac_secret_file: hmac,
    tls:
      tls &&
      defined({
        ca_bundle_file: tls.caBundleRef && files.authorities(tls.caBundleRef, field),
        client_cert_file: certificate,
        client_key_file: key,
        insecure_skip_verify: tls.insecureSkipVerify || undefined,
      }),
  });
}

/** Renders the policies of an MCPServer. @throws Stalled, Waiting */
function renderOwnAuthz(name: string, spec: BackendSpec, context: OutgoingContext) {
  if (!spec.authzConfig) return undefined;
  const { snapshot, incoming, byItself, usersAreNamed } = context;
  const groupsClaim = incoming.type === 'oidc' ? incoming.groups_claim : undefined;
  const place = `MCPServer "${name}" authzConfig`;
  const resolved = resolveAuthz(spec.authzConfig, place, groupsClaim, snapshot);
  if (!usersAreNamed) checkCallersNamed(place, resolved);
  if (resolved.readsCaller && !byItself) checkSameCallers(name, spec, resolved, context);
  return resolved.document;
}

function renderOffer(name: string, spec: BackendSpec, context: OutgoingContext, files: FileList) {
  const place = `MCPServer "${name}"`;
  const overrides = Object.entries(spec.toolsOverride ?? {}).map(([tool, text]) => [tool, defined(text)] as const);
  return {
    authz: renderOwnAuthz(name, spec, context),
    webhooks: spec.webhooks?.validating?.map((webhook) => renderWebhook(webhook, place, files)),
    // The own endpoint has them as limits of the server. They would count twice.
    rate_limiting: context.byItself ? undefined : spec.rateLimiting && renderRateLimiting(spec.rateLimiting),
    tools_filter: spec.toolsFilter,
    tools_override: overrides.length === 0 ? undefined : Object.fromEntries(overrides),
  };
}

function renderHeaders(forward: BackendSpec['headerForward'], place: string, files: FileList) {
  if (!forward) return undefined;
  const secret = Object.entries(forward.addHeadersFromSecret ?? {}).map(
    ([header, reference]) => [header, files.headerValue(reference, `${place} headerForward "${header}"`)] as const,
  );
  return defined({
    add_plaintext_headers: forward.addPlaintextHeaders,
    add_header_files: secret.length === 0 ? undefined : Object.fromEntries(secret),
  });
}

/** @throws Stalled or Waiting; the backend is then left out and no other is affected */
function renderEntry(
  name: string,
  spec: BackendSpec,
  context: OutgoingContext,
  files: FileList,
): RenderedBackend & { places: BackendPaths } {
  const place = `MCPServer "${name}"`;
  const reach = reachBackend(name, spec, context.snapshot, files);
  const { authType, auth, place: authPlace } = resolveOutgoingAuth(name, spec, reach, context, files);
  const places = { name, auth: authPlace, url: spec.remoteUrl === undefined ? 'path' : 'remoteUrl' } as const;
  const common = { name, auth, ...renderOffer(name, spec, context, files) };
  checkBackendServed(name, spec, context.snapshot);
  if (reach.transport === 'stdio')
    return { entry: defined({ ...common, ...reach }), url: shownUrlOf(spec, reach), authType, places };
  const problem = spec.remoteUrl === undefined ? findProgramProblem(name, reach.url, context.snapshot) : undefined;
  if (problem) throw problem;
  const http = {
    header_forward: renderHeaders(spec.headerForward, place, files),
    ca_bundle_file: spec.caBundleRef && files.authorities(spec.caBundleRef, `${place} caBundleRef`),
  };
  return { entry: defined({ ...common, ...reach, ...http }), url: shownUrlOf(spec, reach), authType, places };
}

/** Renders a backend that the runtime accepts. @throws Stalled or Waiting; the backend is then left out and no other is affected */
export function renderBackend(
  name: string,
  spec: BackendSpec,
  context: OutgoingContext,
  files: FileList,
): RenderedBackend {
  const { places, ...rendered } = renderEntry(name, spec, context, files);
  checkBackendDocument(rendered.entry, context.providers, places);
  return rendered;
}

interface Callers {
  readonly issuer: string;
  readonly groupsClaim: string | undefined;
}

function callersOf({ oidcConfig, oidcConfigRef }: BackendSpec, snapshot: Snapshot): Callers | undefined {
  if (!oidcConfig && !oidcConfigRef) return undefined;
  try {
    const issuer = resolveIssuer({ oidcConfig, oidcConfigRef }, snapshot);
    if (issuer.type === 'inline') return { issuer: issuer.block.issuer, groupsClaim: issuer.block.groupsClaim };
    return { issuer: renderKubernetesIssuer(issuer.block, undefined, snapshot).issuer, groupsClaim: undefined };
  } catch (problem) {
    throw problemInOwnFields(problem);
  }
}

function differenceOf(own: Callers, incoming: OutgoingContext['incoming']): string | undefined {
  if (incoming.type === 'anonymous') return 'the VirtualMCPServer lets in callers without a token';
  if (own.issuer !== incoming.issuer) return `the VirtualMCPServer lets in tokens of ${incoming.issuer}`;
  if (own.groupsClaim === incoming.groups_claim) return undefined;
  const claim = (name: string | undefined) => (name === undefined ? 'the default claims' : `claim ${name}`);
  return `the VirtualMCPServer reads groups from ${claim(incoming.groups_claim)}, oidcConfig from ${claim(own.groupsClaim)}`;
}

function callersWithTokens(name: string, issuer: string): Stalled {
  const message =
    `MCPServer "${name}" authzConfig: its policies name Client::"anonymous", the caller of its own endpoint, but the VirtualMCPServer lets in ` +
    `tokens of ${issuer}: write policies that do not name it, or oidcConfig with this issuer`;
  return new Stalled('OtherCallers', message);
}

/** Rejects policies about callers if issuer or `groupsClaim` differ: the group has other users. @throws Stalled, Waiting */
function checkSameCallers(
  name: string,
  spec: BackendSpec,
  { namesAnonymous }: Pick<ResolvedAuthz, 'namesAnonymous'>,
  { incoming, snapshot }: OutgoingContext,
): void {
  const own = callersOf(spec, snapshot);
  if (own === undefined && namesAnonymous && incoming.type !== 'anonymous')
    throw callersWithTokens(name, incoming.issuer);
  const difference = own && differenceOf(own, incoming);
  if (own === undefined || difference === undefined) return;
  const message =
    `MCPServer "${name}" authzConfig: its policies read the principal or claims, and oidcConfig has issuer ${own.issuer}, but ${difference}: ` +
    'write the same issuer and groupsClaim in both, or policies that do not read the caller';
  throw new Stalled('OtherCallers', message);
}
