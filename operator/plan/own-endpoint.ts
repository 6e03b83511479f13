import { MCPExternalAuthConfig, VirtualMCPServerSpec } from '#crds/kinds/index';
import { readValue } from '#crds/parts/read-value';
import { valueAt } from '#crds/parts/rule';
import { Stalled } from '../errors.ts';
import type { Manifest, Snapshot } from '../snapshot.ts';
import { givesRuntime } from './child-names.ts';
import { defined } from './defined.ts';
import type { BackendSpec } from './find-group-members.ts';
import { readSpec } from './read-resource.ts';
import type { ServerSpec } from './server-spec.ts';

// The code of a server with one backend also serves a single MCPServer.

export function hasOwnEndpoint(spec: Partial<BackendSpec>): boolean {
  return givesRuntime((field) => spec[field] !== undefined);
}

type EmbeddedServer = NonNullable<MCPExternalAuthConfig['spec']['embeddedAuthServer']>;

function embeddedServer(spec: BackendSpec, snapshot: Snapshot): EmbeddedServer | undefined {
  const name = spec.externalAuthConfigRef?.name;
  const manifest = name === undefined ? undefined : snapshot.mcpExternalAuthConfigs[name];
  if (manifest?.spec === undefined) return undefined;
  return readSpec(MCPExternalAuthConfig, manifest).embeddedAuthServer;
}

/** Returns boundary 1. The MCPServer's own policies are part of its backend in every document. */
function incomingAuth({ oidcConfig, oidcConfigRef }: BackendSpec): object {
  return oidcConfig || oidcConfigRef ? defined({ type: 'oidc', oidcConfig, oidcConfigRef }) : { type: 'anonymous' };
}

/** Fields of the swapped token, which the backend's entry holds. */
const SWAP = new Set(['headerStrategy', 'customHeaderName']);

function authServer(embedded: EmbeddedServer | undefined): object | undefined {
  return embedded && Object.fromEntries(Object.entries(embedded).filter(([field]) => !SWAP.has(field)));
}

/** Verifies that boundary 1 names the audience of an authorization server's tokens. @throws Stalled */
export function checkEmbeddedServer(name: string, spec: BackendSpec, snapshot: Snapshot): void {
  if (hasOwnEndpoint(spec) && spec.oidcConfig) return;
  const reference = spec.externalAuthConfigRef?.name ?? '';
  // The users of the configuration report its other problems.
  if (valueAt(snapshot.mcpExternalAuthConfigs[reference]?.spec, ['type']) !== 'embeddedAuthServer') return;
  const message = `MCPServer "${name}" refers to an embeddedAuthServer: write oidcConfig with its issuer and with resourceUrl, so that its tokens are let in`;
  throw new Stalled('OidcConfigNeeded', message);
}

/** Returns the server spec of an MCPServer's own runtime. @throws Stalled for settings that it cannot serve */
export function ownEndpoint({ metadata: { name } }: Manifest, spec: BackendSpec, snapshot: Snapshot): ServerSpec {
  const server = readValue(VirtualMCPServerSpec, {
    ...defined({
      authServerConfig: authServer(embeddedServer(spec, snapshot)),
      replicas: spec.replicas,
      sessionStorage: spec.sessionStorage,
      sessionAffinity: spec.sessionAffinity,
      rateLimiting: spec.rateLimiting,
      trustedProxies: spec.trustProxyHeaders ? spec.trustedProxies : undefined,
      audit: spec.audit,
      telemetry: spec.telemetry,
    }),
    config: {
      groupRef: name,
      ...(spec.debug && { operational: { logLevel: 'debug' } }),
      // Tool names stay unchanged.
      aggregation: { conflictResolution: 'priority', conflictResolutionConfig: { priorityOrder: [name] } },
    },
    incomingAuth: incomingAuth(spec),
    outgoingAuth: { source: 'discovered' },
  });
  const prefix = spec.endpointPrefix?.replace(/\/+$/, '');
  if ('data' in server)
    return {
      ...server.data,
      port: spec.proxyPort,
      endpointPrefix: prefix === '' ? undefined : prefix,
      proxyMode: spec.proxyMode,
    };
  throw new Stalled('InvalidSpec', `MCPServer "${name}" by itself: ${server.problems.join('; ')}`);
}
