import type { ResourceKey } from '../snapshot.ts';

/** Returns the name of the objects of a VirtualMCPServer's runtime. */
export function runtimeChild(server: string): string {
  return `vmcp-${server}`;
}

/** Suffixes that another MCPServer's objects may have after its name. */
const RESERVED = /-(proxy|pods)(-x)*$/;

/** Returns the name of the objects of an MCPServer's program. No other resource has objects with this name. */
export function backendChild(backend: string): string {
  return `mcp-${backend}${RESERVED.test(backend) ? '-x' : ''}`;
}

/** Returns the name of an MCPServer's own runtime. */
function proxyChild(backend: string): string {
  return `mcp-${backend}-proxy`;
}

/** Returns the name of the Secret with the files of a child. */
export function credentialsOf(child: string): string {
  return `${child}-credentials`;
}

/** Returns the name of the metrics Service of a child's pods. It has a prefix, because a name may end in "-metrics". */
export function metricsOf(child: string): string {
  return `metrics-${child}`;
}

/** Returns the name of the Service with the address of each pod of a backend. */
export function podsOf(child: string): string {
  return `${child}-pods`;
}

/** Returns the name of the bridge that serves a stdio program over HTTP. Its ConfigMap appends the schema version. */
export function bridgeOf(child: string): string {
  return `${child}-bridge`;
}

/** Returns the name of the Secret that the platform generates for a runtime. */
export function sealingOf(child: string): string {
  return `${child}-sealing`;
}

/** Settings of who may call an MCPServer's own runtime, and where. */
const OF_ENDPOINT = ['oidcConfig', 'oidcConfigRef', 'proxyMode', 'proxyPort'] as const;
/** Settings that give an MCPServer its own runtime. */
const OWN_RUNTIME = [...OF_ENDPOINT, 'authzConfig', 'remoteAuth', 'webhooks', 'rateLimiting'] as const;
type RuntimeField = (typeof OWN_RUNTIME)[number] | 'groupRef';

/**
 * Returns whether the written fields give an MCPServer its own runtime. A group member with a shared login
 * (`remoteAuth`) gets its own endpoint only when another field requests it.
 */
export function givesRuntime(has: (field: RuntimeField) => boolean): boolean {
  const behindGroup = has('groupRef') && has('remoteAuth');
  return (behindGroup ? OF_ENDPOINT : OWN_RUNTIME).some(has);
}

/** Returns whether a resource has a runtime, judged by its unchecked spec. */
export function mayHaveRuntime({ kind, spec }: { kind: string; spec?: unknown }): boolean {
  if (kind !== 'MCPServer') return kind === 'VirtualMCPServer';
  return typeof spec === 'object' && spec !== null && givesRuntime((field) => field in spec);
}

/** Returns the name of a runtime's objects, for a server or for a backend that may have one. */
export function runtimeChildOf({ kind, name }: Pick<ResourceKey, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? runtimeChild(name) : proxyChild(name);
}
