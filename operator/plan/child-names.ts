import type { ResourceKey } from '../world.ts';

/** Name of the objects of a VirtualMCPServer's runtime. */
export function runtimeChild(server: string): string {
  return `vmcp-${server}`;
}

/** Name of the objects of an MCPServer's own process. */
export function backendChild(backend: string): string {
  return `mcp-${backend}`;
}

/** Name of the runtime that an MCPServer gets of its own. */
export function proxyChild(backend: string): string {
  return `mcp-${backend}-proxy`;
}

/** Name of the Secret with the files of a child. */
export function credentialsOf(child: string): string {
  return `${child}-credentials`;
}

/** Name of the Secret with which a runtime seals what it stores. */
export function sealingOf(child: string): string {
  return `${child}-sealing`;
}

/** Settings that give an MCPServer a runtime of its own. */
const OWN_RUNTIME = [
  'oidcConfig',
  'oidcConfigRef',
  'authzConfig',
  'remoteAuth',
  'webhooks',
  'proxyMode',
  'proxyPort',
  'rateLimiting',
];

/** Of a resource that is gone nobody knows, so it may have had one. */
function hasOwnRuntime(spec: unknown): boolean {
  if (spec === undefined) return true;
  return typeof spec === 'object' && spec !== null && OWN_RUNTIME.some((field) => field in spec);
}

/** Names of all children that a resource may have, whatever their kind. The spec may be unchecked. */
export function childNames({ kind, name }: ResourceKey, spec: unknown): string[] {
  if (kind === 'VirtualMCPServer') {
    const child = runtimeChild(name);
    return [child, credentialsOf(child), sealingOf(child)];
  }
  if (kind !== 'MCPServer') return [];
  const child = backendChild(name);
  const proxy = proxyChild(name);
  const own = hasOwnRuntime(spec) ? [proxy, credentialsOf(proxy), sealingOf(proxy)] : [];
  return [child, credentialsOf(child), ...own];
}
