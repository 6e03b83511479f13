import { resourceUrlOf } from '#crds/kinds/index';
import type { AggregationConfig } from '#crds/parts/aggregation';
import { isLoopbackHost } from '#crds/parts/private-address';
import { readTracesUrl } from '#crds/parts/otlp-endpoint';
import type { Telemetry } from '#crds/parts/telemetry';
import { RUN_CONFIG_VERSION, type RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled, Waiting } from '../errors.ts';
import { type Manifest, type Named, runtimeFolder, type Snapshot } from '../snapshot.ts';
import { defined } from './defined.ts';
import { type FileList, HEADER_FLAWS } from './file-list.ts';
import { childOf, runtimeNameOf } from './object-parts.ts';
import type { BackendDocument } from './render-backend.ts';
import { renderLimits, renderOperational, renderRateLimiting } from './render-operational.ts';
import { renderSessionStorage } from './render-storage.ts';
import type { ServerSpec } from './server-spec.ts';

const PUBLIC_PORT = 4483;

interface ServerParts {
  manifest: Manifest;
  spec: ServerSpec;
  incoming: RunConfigDocument['incoming'];
  authz: RunConfigDocument['authz'];
  authServer: RunConfigDocument['embedded_auth_server_config'];
  backends: BackendDocument[];
}

interface Listen {
  host: string;
  port: number;
  private_host: string;
  private_port: number;
}

export function keyPrefixOf(named: Named, { namespace }: Pick<Snapshot, 'namespace'>): string {
  return `vmcp:${namespace}/${runtimeNameOf(named)}:`;
}

/** Returns the addresses of a runtime. On one machine, the port of a loopback resourceUrl is the default, as users connect to it. */
export function listenOf(manifest: Manifest, spec: ServerSpec, snapshot: Snapshot): Listen {
  const { platform } = snapshot;
  if (platform.mode === 'cluster') {
    return { host: '::', port: spec.port ?? PUBLIC_PORT, private_host: '::', private_port: 4484 };
  }
  const allocated = platform.ports[runtimeNameOf(manifest)];
  if (!allocated) {
    const message = `${manifest.kind} "${manifest.metadata.name}" has no port on this machine yet: it is given one at the next look`;
    throw new Waiting('PortNotAllocated', message);
  }
  const typed = resourceUrlOf(spec.incomingAuth);
  const url = typed === undefined ? undefined : new URL(typed);
  const typedPort = url && isLoopbackHost(url.hostname) && url.port !== '' ? Number(url.port) : undefined;
  const port = spec.port ?? spec.listen?.port ?? typedPort ?? allocated.port;
  return { host: '127.0.0.1', port, private_host: '127.0.0.1', private_port: allocated.privatePort };
}

export function endpointOf(manifest: Manifest, spec: ServerSpec, snapshot: Snapshot): string {
  const typed = resourceUrlOf(spec.incomingAuth);
  if (typed !== undefined) return typed;
  const scheme = spec.tls ? 'https' : 'http';
  const { port } = listenOf(manifest, spec, snapshot);
  const path = `${spec.endpointPrefix ?? ''}/mcp`;
  if (snapshot.platform.mode === 'cluster')
    return `${scheme}://${childOf(manifest)}.${snapshot.namespace}.svc:${port}${path}`;
  return `${scheme}://127.0.0.1:${port}${path}`;
}

export function serviceHosts(child: string, { namespace }: Snapshot): string[] {
  const inside = `${child}.${namespace}`;
  return [child, inside, `${inside}.svc`, `${inside}.svc.cluster.local`];
}

/** Returns the Host headers of the server besides those of resourceUrl and issuer. */
function hostsOf(manifest: Manifest, spec: ServerSpec, snapshot: Snapshot): string[] {
  const service = serviceHosts(childOf(manifest), snapshot);
  const base = spec.authServerConfig?.authorizationEndpointBaseUrl;
  return [
    ...(spec.incomingAuth.allowedHosts ?? []),
    ...(base === undefined ? [] : [new URL(base).host]),
    ...(snapshot.platform.mode === 'cluster' ? service : []),
  ];
}

function uidOf(manifest: Manifest, snapshot: Snapshot): string {
  const { platform } = snapshot;
  const uid = platform.mode === 'local' ? platform.uids[runtimeNameOf(manifest)] : manifest.metadata.uid;
  if (uid !== undefined) return uid;
  throw new Waiting(
    'UidNotMade',
    `${manifest.kind} "${manifest.metadata.name}" has no uid yet: it is made at the next look`,
  );
}

function renderTls(spec: ServerSpec, files: FileList) {
  if (!spec.tls) return undefined;
  const { name } = spec.tls.secretRef;
  const [certificate, key] = files.pair({ name, key: 'tls.crt' }, { name, key: 'tls.key' }, 'tls.secretRef');
  return { cert_file: certificate, key_file: key };
}

/** Returns the file that keeps sessions over a restart: on one machine, without written storage. */
function databaseOf(manifest: Manifest, written: ServerSpec['sessionStorage'], snapshot: Snapshot): string | undefined {
  const { platform, generated } = snapshot;
  if (platform.mode !== 'local' || written !== undefined) return undefined;
  if (generated[runtimeNameOf(manifest)]?.sealing === undefined) return undefined;
  const { kind, metadata } = manifest;
  return `${platform.loginDirectory}/${runtimeFolder({ kind, ...metadata })}/sessions.sqlite`;
}

function sessionStorageOf(manifest: Manifest, spec: ServerSpec, snapshot: Snapshot, files: FileList) {
  const written = spec.sessionStorage ?? spec.config.sessionStorage;
  const file = databaseOf(manifest, written, snapshot);
  if (file !== undefined) return { type: 'sqlite' as const, file };
  return renderSessionStorage(written, keyPrefixOf(manifest, snapshot), files);
}

export function renderSealing(
  manifest: Manifest,
  spec: ServerSpec,
  snapshot: Snapshot,
  files: FileList,
): string[] | undefined {
  const storage = spec.sessionStorage ?? spec.config.sessionStorage;
  if (storage?.sealingSecretRefs?.length) {
    return storage.sealingSecretRefs.map((reference, index) =>
      files.secret(reference, `sessionStorage.sealingSecretRefs[${index}]`, ['short']),
    );
  }
  const digest = snapshot.generated[runtimeNameOf(manifest)]?.sealing;
  if (digest === undefined) {
    // In memory, only the ids of tasks are sealed.
    if (storage?.provider !== 'redis') return undefined;
    throw new Waiting(
      'SealingSecretNotMade',
      `${manifest.kind} "${manifest.metadata.name}" has no sealing secret yet: the operator makes one`,
    );
  }
  return [files.generated('sealing', digest)];
}

/** Renders the document from resolved parts. Reads only the fields of the spec that no earlier step has read. */
export function renderRunConfig(parts: ServerParts, snapshot: Snapshot, files: FileList): RunConfigDocument {
  const { manifest, spec, incoming, authz, authServer, backends } = parts;
  const { name } = manifest.metadata;
  const { config } = spec;
  const statusToken = snapshot.generated[runtimeNameOf(manifest)]?.statusToken;
  const hosts = hostsOf(manifest, spec, snapshot);
  const document = defined({
    server: { namespace: snapshot.namespace, name, uid: uidOf(manifest, snapshot) },
    listen: defined({ ...listenOf(manifest, spec, snapshot), tls: renderTls(spec, files) }),
    resource_url: resourceUrlOf(spec.incomingAuth),
    endpoint_prefix: spec.endpointPrefix,
    proxy_mode: spec.proxyMode === 'sse' ? spec.proxyMode : undefined,
    allowed_hosts: hosts.length === 0 ? undefined : hosts,
    allowed_origins: spec.incomingAuth.allowedOrigins,
    trusted_proxies: spec.trustedProxies,
    incoming,
    authz,
    embedded_auth_server_config: authServer,
    aggregation: config.aggregation && renderAggregation(config.aggregation),
    backends,
    operational: config.operational && renderOperational(config.operational),
    limits: spec.limits && renderLimits(spec.limits),
    passthrough_headers: spec.passthroughHeaders,
    rate_limiting: spec.rateLimiting && renderRateLimiting(spec.rateLimiting),
    session_storage: sessionStorageOf(manifest, spec, snapshot, files),
    sealing_secret_files: renderSealing(manifest, spec, snapshot, files),
    audit_config: spec.audit ?? config.audit,
    telemetry_config: renderTelemetry(spec.telemetry ?? config.telemetry, files),
    status_token_file: statusToken === undefined ? undefined : files.generated('statusToken', statusToken),
  });
  return { schema_version: RUN_CONFIG_VERSION, ...document };
}

/** Renders traces and metrics of a server. @throws Stalled if the written settings cannot send spans */
function renderTelemetry(telemetry: Telemetry | undefined, files: FileList): RunConfigDocument['telemetry_config'] {
  if (!telemetry) return undefined;
  const { headersFromSecret = {}, caBundleRef, ...settings } = telemetry;
  const place = settings.tracingEnabled ? readTracesUrl(settings) : undefined;
  if (place && 'problem' in place) throw new Stalled('InvalidSpec', `telemetry: ${place.problem}`);
  const secret = Object.entries(headersFromSecret).map(
    ([name, reference]) => [name, files.secret(reference, 'telemetry.headersFromSecret', HEADER_FLAWS)] as const,
  );
  return defined({
    ...settings,
    header_files: secret.length === 0 ? undefined : Object.fromEntries(secret),
    ca_bundle_file: caBundleRef && files.authorities(caBundleRef, 'telemetry.caBundleRef'),
  });
}

type AggregationDocument = NonNullable<RunConfigDocument['aggregation']>;
type WorkloadTools = NonNullable<AggregationConfig['tools']>[number];

function renderTools({ workload, filter, overrides, excludeAll }: WorkloadTools) {
  const texts = Object.entries(overrides ?? {}).map(([tool, { name, description, annotations }]) => {
    const hints = annotations && defined(annotations);
    return [tool, defined({ name, description, annotations: hints })] as const;
  });
  return defined({ workload, filter, overrides: overridesOf(texts), exclude_all: excludeAll || undefined });
}

type WorkloadPrompts = NonNullable<AggregationConfig['prompts']>[number];

function renderPrompts({ workload, filter, overrides, excludeAll }: WorkloadPrompts) {
  const texts = Object.entries(overrides ?? {}).map(([prompt, text]) => [prompt, defined(text)] as const);
  return defined({ workload, filter, overrides: overridesOf(texts), exclude_all: excludeAll || undefined });
}

const overridesOf = <T>(texts: (readonly [string, T])[]): Record<string, T> | undefined =>
  texts.length === 0 ? undefined : Object.fromEntries(texts);

function renderAggregation(config: AggregationConfig): AggregationDocument {
  const resolution = config.conflictResolutionConfig;
  return defined({
    conflict_resolution: config.conflictResolution,
    prefix_format: resolution?.prefixFormat,
    prefix_mode: resolution?.prefixMode,
    priority_order: resolution?.priorityOrder,
    exclude_all_tools: config.excludeAllTools || undefined,
    tools: config.tools?.map(renderTools),
    prompts: config.prompts?.map(renderPrompts),
    apps: config.apps?.rewriteCalls === true ? { rewrite_calls: true } : undefined,
  });
}
