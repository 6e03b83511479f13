import type { ResourceKey } from '../world.ts';

/** Name of the objects of a VirtualMCPServer's runtime. */
export function runtimeChild(server: string): string {
  return `vmcp-${server}`;
}

/** Endings that the objects of another MCPServer may have behind its name. */
const RESERVED = /-(proxy|pods)(-x)*$/;

/** Name of the objects of an MCPServer's own process. No other resource makes an object of this name. */
export function backendChild(backend: string): string {
  return `mcp-${backend}${RESERVED.test(backend) ? '-x' : ''}`;
}

/** Name of the runtime that an MCPServer gets of its own. */
function proxyChild(backend: string): string {
  return `mcp-${backend}-proxy`;
}

/** Name of the Secret with the files of a child. */
export function credentialsOf(child: string): string {
  return `${child}-credentials`;
}

/** Name of the Service at which the metrics of a child's pods are collected: a prefix, as a name may end in "-metrics". */
export function metricsOf(child: string): string {
  return `metrics-${child}`;
}

/** Name of the Service that has the address of each pod of a backend. */
export function podsOf(child: string): string {
  return `${child}-pods`;
}

/** Name of the bridge that speaks HTTP for a program on stdio: its ConfigMap has the schema version behind it. */
export function bridgeOf(child: string): string {
  return `${child}-bridge`;
}

/** Name of the Secret with what the platform makes for a runtime. */
export function sealingOf(child: string): string {
  return `${child}-sealing`;
}

/** Settings that say who may call a runtime of an MCPServer's own, and where. */
const OF_ENDPOINT = ['oidcConfig', 'oidcConfigRef', 'proxyMode', 'proxyPort'] as const;
/** Settings that give an MCPServer a runtime of its own. */
const OWN_RUNTIME = [...OF_ENDPOINT, 'authzConfig', 'remoteAuth', 'webhooks', 'rateLimiting'] as const;
type RuntimeField = (typeof OWN_RUNTIME)[number] | 'groupRef';

/**
 * Whether the fields that are written give an MCPServer a runtime of its own. One of a group whose callers act with one login
 * (`remoteAuth`) is there for that group: it gets a second door where that is asked for, and not by the login itself.
 */
export function givesRuntime(has: (field: RuntimeField) => boolean): boolean {
  const behindGroup = has('groupRef') && has('remoteAuth');
  return (behindGroup ? OF_ENDPOINT : OWN_RUNTIME).some(has);
}

/** Whether a resource has a runtime, by what its unchecked spec says. */
export function mayHaveRuntime({ kind, spec }: { kind: string; spec?: unknown }): boolean {
  if (kind !== 'MCPServer') return kind === 'VirtualMCPServer';
  return typeof spec === 'object' && spec !== null && givesRuntime((field) => field in spec);
}

/** Name of the objects of the runtime of a resource: a server's own, or the one that a backend may have. */
export function runtimeChildOf({ kind, name }: Pick<ResourceKey, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? runtimeChild(name) : proxyChild(name);
}
