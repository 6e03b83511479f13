import type { ResourceKey } from '../snapshot.ts';

export function runtimeChild(server: string): string {
  return `vmcp-${server}`;
}

/** Suffixes that another MCPServer's objects may have after its name. */
const RESERVED = /-(proxy|pods)(-x)*$/;

/** Returns the name of the objects of an MCPServer's program. No other resource has objects with this name. */
export function backendChild(backend: string): string {
  return `mcp-${backend}${RESERVED.test(backend) ? '-x' : ''}`;
}

function proxyChild(backend: string): string {
  return `mcp-${backend}-proxy`;
}

export function credentialsOf(child: string): string {
  return `${child}-credentials`;
}

/** Returns the name of the metrics Service of a child's pods. It has a prefix, because a name may end in "-metrics". */
export function metricsOf(child: string): string {
  return `metrics-${child}`;
}

export function podsOf(child: string): string {
  return `${child}-pods`;
}

/** Returns the name of the bridge that serves a stdio program over HTTP. Its ConfigMap appends the schema version. */
export function bridgeOf(child: string): string {
  return `${child}-bridge`;
}

export function sealingOf(child: string): string {
  return `${child}-sealing`;
}

const OF_ENDPOINT = ['oidcConfig', 'oidcConfigRef', 'proxyMode', 'proxyPort'] as const;
const OWN_RUNTIME = [...OF_ENDPOINT, 'authzConfig', 'remoteAuth', 'webhooks', 'rateLimiting'] as const;
type RuntimeField = (typeof OWN_RUNTIME)[number] | 'groupRef';

/** Returns whether these fields give an MCPServer its own runtime. A group member's shared login (`remoteAuth`) alone does not. */
export function givesRuntime(has: (field: RuntimeField) => boolean): boolean {
  const behindGroup = has('groupRef') && has('remoteAuth');
  return (behindGroup ? OF_ENDPOINT : OWN_RUNTIME).some(has);
}

/** Returns whether a resource has a runtime, judged by its unchecked spec. */
export function mayHaveRuntime({ kind, spec }: { kind: string; spec?: unknown }): boolean {
  if (kind !== 'MCPServer') return kind === 'VirtualMCPServer';
  return typeof spec === 'object' && spec !== null && givesRuntime((field) => field in spec);
}

export function runtimeChildOf({ kind, name }: Pick<ResourceKey, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? runtimeChild(name) : proxyChild(name);
}
