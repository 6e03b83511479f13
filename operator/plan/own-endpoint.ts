import { MCPExternalAuthConfig, VirtualMCPServerSpec } from '#crds/kinds/index';
import { readValue } from '#crds/parts/read-value';
import { valueAt } from '#crds/parts/rule';
import { Stalled } from '../errors.ts';
import type { Manifest, World } from '../world.ts';
import { givesRuntime } from './child-names.ts';
import { defined } from './defined.ts';
import type { BackendSpec } from './find-group-members.ts';
import { readSpec } from './read-resource.ts';
import type { ServerSpec } from './server-spec.ts';

// An MCPServer by itself is a server of one backend: the same code serves it.

/** Whether an MCPServer gets a runtime of its own. */
export function hasOwnEndpoint(spec: Partial<BackendSpec>): boolean {
  return givesRuntime((field) => spec[field] !== undefined);
}

type EmbeddedServer = NonNullable<MCPExternalAuthConfig['spec']['embeddedAuthServer']>;

/** The authorization server that the MCPServer refers to, if it is one. */
function embeddedServer(spec: BackendSpec, world: World): EmbeddedServer | undefined {
  const name = spec.externalAuthConfigRef?.name;
  const manifest = name === undefined ? undefined : world.mcpExternalAuthConfigs[name];
  if (manifest?.spec === undefined) return undefined;
  return readSpec(MCPExternalAuthConfig, manifest).embeddedAuthServer;
}

/** Policies of the MCPServer itself stand at its backend, in whatever document that is. */
function incomingAuth({ oidcConfig, oidcConfigRef }: BackendSpec): object {
  return oidcConfig || oidcConfigRef ? defined({ type: 'oidc', oidcConfig, oidcConfigRef }) : { type: 'anonymous' };
}

/** Fields of the token that is swapped in: they stand at the backend. */
const SWAP = new Set(['headerStrategy', 'customHeaderName']);

function authServer(embedded: EmbeddedServer | undefined): object | undefined {
  return embedded && Object.fromEntries(Object.entries(embedded).filter(([field]) => !SWAP.has(field)));
}

/** An authorization server of its own needs boundary 1 to say who its tokens are for. Throws `Stalled`. */
export function checkEmbeddedServer(name: string, spec: BackendSpec, world: World): void {
  if (hasOwnEndpoint(spec) && spec.oidcConfig) return;
  const reference = spec.externalAuthConfigRef?.name ?? '';
  // What else may be wrong with it is told where it is used.
  if (valueAt(world.mcpExternalAuthConfigs[reference]?.spec, ['type']) !== 'embeddedAuthServer') return;
  const message = `MCPServer "${name}" refers to an embeddedAuthServer: write oidcConfig with its issuer and with resourceUrl, so that its tokens are let in`;
  throw new Stalled('OidcConfigNeeded', message);
}

/** What the runtime of an MCPServer by itself is to serve. Throws `Stalled` for what it cannot. */
export function ownEndpoint({ metadata: { name } }: Manifest, spec: BackendSpec, world: World): ServerSpec {
  const server = readValue(VirtualMCPServerSpec, {
    ...defined({
      authServerConfig: authServer(embeddedServer(spec, world)),
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
      // Names stay as they are.
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
