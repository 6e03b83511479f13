import { resourceUrlOf } from '#crds/kinds/index';
import { valueAt } from '#crds/parts/rule';
import { namesUsers } from '#crds/run-config/auth-server';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { type Manifest, runtimeFolder, type Snapshot } from '../snapshot.ts';
import { checkDocument } from './check-document.ts';
import { checkAuditServed } from './check-served.ts';
import { checkReplicas } from './check-replicas.ts';
import { defined } from './defined.ts';
import { FileList } from './file-list.ts';
import { findWarnings } from './find-warnings.ts';
import type { BackendFinding } from './finding.ts';
import { childOf, runtimeNameOf, runtimeSelector, selectorText } from './object-parts.ts';
import type { Rendered } from './outcome.ts';
import { ownValue } from './own-value.ts';
import type { LoginOptions } from './render-remote-auth.ts';
import { endpointOf, keyPrefixOf, renderRunConfig, renderSealing } from './render-run-config.ts';
import { renderSessionStorage } from './render-storage.ts';
import { type AuthServerOptions, resolveAuthServer } from './resolve-auth-server.ts';
import { checkCallersNamed } from './resolve-authz.ts';
import { resolveIncomingAuth } from './resolve-incoming-auth.ts';
import type { OutgoingContext } from './resolve-outgoing-auth.ts';
import type { ServerSpec } from './server-spec.ts';
import type { ServerFindings, ServerObserved } from './summarise-status.ts';

export interface ResolvedRuntime {
  rendered: Rendered;
  findings: ServerFindings;
}

export interface ResolvedBackends {
  entries: RunConfigDocument['backends'];
  findings: BackendFinding[];
  members: string[];
}

function directoriesOf(child: string, snapshot: Snapshot): { secret: string; config: string } {
  if (snapshot.platform.mode === 'cluster') return { secret: '/etc/vmcp/credentials', config: '/etc/vmcp/config' };
  const own = `${snapshot.platform.directory}/${child}`;
  return { secret: `${own}/secrets`, config: own };
}

/** An MCPServer has its authorization server in an MCPExternalAuthConfig. */
function hasWrittenStorage({ kind, spec }: Manifest, snapshot: Snapshot): boolean {
  if (kind === 'VirtualMCPServer') return valueAt(spec, ['authServerConfig', 'storage']) !== undefined;
  const name = valueAt(spec, ['externalAuthConfigRef', 'name']);
  const config = typeof name === 'string' ? snapshot.mcpExternalAuthConfigs[name] : undefined;
  return valueAt(config?.spec, ['embeddedAuthServer', 'storage']) !== undefined;
}

/** On one machine, logins outlive a restart unless another storage is written. The filled-in default does not show whether it was. */
function authServerOptions(manifest: Manifest, spec: ServerSpec, snapshot: Snapshot): AuthServerOptions {
  const { kind, metadata } = manifest;
  const place = { resourceUrl: resourceUrlOf(spec.incomingAuth), keyPrefix: keyPrefixOf(manifest, snapshot) };
  if (snapshot.platform.mode !== 'local' || hasWrittenStorage(manifest, snapshot)) return place;
  const database = `${snapshot.platform.loginDirectory}/${runtimeFolder({ kind, ...metadata })}/logins.sqlite`;
  return { ...place, kept: { database, secrets: snapshot.generated[runtimeNameOf(manifest)] ?? {} } };
}

/** Returns the place of remote logins: they use a separate, sealed prefix of the session store. */
function loginOptions(manifest: Manifest, spec: ServerSpec, snapshot: Snapshot): LoginOptions {
  const written = spec.sessionStorage ?? spec.config.sessionStorage;
  return {
    server: `${manifest.kind} "${manifest.metadata.name}"`,
    byItself: manifest.kind === 'MCPServer',
    hasPage: spec.authServerConfig !== undefined,
    shared(files) {
      const storage = renderSessionStorage(written, keyPrefixOf(manifest, snapshot), files);
      const sealing = renderSealing(manifest, spec, snapshot, files);
      if (storage.type !== 'redis' || sealing === undefined) return undefined;
      const { redis } = storage;
      return {
        storage: { type: 'redis', redis: { ...redis, key_prefix: `${redis.key_prefix}remote:` } },
        sealing_secret_files: sealing,
      };
    },
  };
}

/** Resolves in this order: incoming, authorization server, backends with outgoing, run configuration. @throws Stalled, Waiting */
export function resolveRuntime(
  manifest: Manifest,
  spec: ServerSpec,
  resolve: (context: OutgoingContext, files: FileList) => ResolvedBackends,
  snapshot: Snapshot,
): ResolvedRuntime {
  const { incomingAuth, authServerConfig } = spec;
  const files = new FileList(snapshot, directoriesOf(childOf(manifest), snapshot));
  checkReplicas(spec);
  checkAuditServed(manifest, spec, snapshot);
  const { incoming, authz, warnings, place } = resolveIncomingAuth(
    incomingAuth,
    authServerConfig !== undefined,
    snapshot,
    files,
  );
  const authServer =
    authServerConfig &&
    resolveAuthServer(authServerConfig, incoming, authServerOptions(manifest, spec, snapshot), files);
  const usersAreNamed = namesUsers(authServer?.document);
  if (authz && !usersAreNamed) checkCallersNamed('incomingAuth.authzConfig', authz);
  const context = {
    outgoing: spec.outgoingAuth,
    providers: authServer?.document.upstreams.map((upstream) => upstream.name) ?? [],
    incoming,
    usersAreNamed,
    byItself: manifest.kind === 'MCPServer',
    login: loginOptions(manifest, spec, snapshot),
    snapshot,
  };
  const { entries: backends, findings, members } = resolve(context, files);
  const parts = { manifest, spec, incoming, authz: authz?.document, authServer: authServer?.document, backends };
  const document = renderRunConfig(parts, snapshot, files);
  checkDocument(document, {
    ...defined({ issuer: place }),
    under: (field) => (spec[field] ? field : `config.${field}`),
  });
  return {
    rendered: files.renderedWith(document),
    findings: {
      url: endpointOf(manifest, spec, snapshot),
      redirectUris: authServer?.redirectUris,
      backends: findings,
      warnings: [...warnings, ...(authServer?.warnings ?? []), ...findWarnings(spec, document, members, snapshot)],
    },
  };
}

export function observeRuntime(manifest: Manifest, rendered: Rendered, snapshot: Snapshot): ServerObserved {
  const name = runtimeNameOf(manifest);
  const runtime = snapshot.observed[name];
  const same = snapshot.documents[name] === rendered.text;
  const child = childOf(manifest);
  const observed = snapshot.deployments?.[child];
  // If no pod is wanted, no pod has to take the document over.
  const nobody = observed?.wanted === 0 && observed.complete;
  const delivered = same && (runtime?.current === true || nobody);
  if (snapshot.platform.mode === 'local') {
    const failure = ownValue(snapshot.platform.runtimeFailures ?? {}, name);
    return { runtime, delivered, ...defined({ failure }) };
  }
  const selector = selectorText(runtimeSelector(manifest));
  return { runtime, delivered, workload: { child, observed, selector }, deployments: snapshot.deployments ?? {} };
}
