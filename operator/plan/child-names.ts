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
function proxyChild(backend: string): string {
  return `mcp-${backend}-proxy`;
}

/** Name of the Secret with the files of a child. */
export function credentialsOf(child: string): string {
  return `${child}-credentials`;
}

/** Name of the Secret with which a runtime seals what it stores. */
function sealingOf(child: string): string {
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

/** Children of an MCPServer by what its unchecked spec says. Of a resource that is gone nobody knows: it may have had all. */
function backendChildren(name: string, spec: unknown): string[] {
  const written = typeof spec === 'object' && spec !== null ? spec : undefined;
  const has = (field: string) => written === undefined || field in written;
  const child = backendChild(name);
  const proxy = proxyChild(name);
  const runs = written === undefined || !has('remoteUrl');
  return [
    ...(runs ? [child, credentialsOf(child)] : []),
    ...(OWN_RUNTIME.some(has) ? [proxy, credentialsOf(proxy), sealingOf(proxy)] : []),
  ];
}

/** Names of all children that a resource may have, whatever their kind. */
export function childNames({ kind, name }: ResourceKey, spec: unknown): string[] {
  if (kind === 'MCPServer') return backendChildren(name, spec);
  if (kind !== 'VirtualMCPServer') return [];
  const child = runtimeChild(name);
  return [child, credentialsOf(child), sealingOf(child)];
}
