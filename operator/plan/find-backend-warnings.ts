import type { World } from '../world.ts';
import type { BackendSpec } from './find-group-members.ts';
import type { Finding } from './summarise-status.ts';

const warning = (type: string, reason: string, message: string): Finding => ({ type, status: 'True', reason, message });

/** Settings that only an endpoint of its own has. Behind a VirtualMCPServer they have no effect. */
const OWN_ENDPOINT = ['oidcConfig', 'oidcConfigRef', 'proxyMode', 'proxyPort', 'rateLimiting'] as const;

function ownEndpoint(spec: BackendSpec, world: World): Finding[] {
  if (world.platform.mode === 'cluster') return [];
  const written = OWN_ENDPOINT.filter((field) => spec[field] !== undefined);
  if (written.length === 0) return [];
  const message = `An MCPServer has no endpoint of its own on one machine, so ${written.join(', ')} have no effect: write them on the VirtualMCPServer in front of it.`;
  return [warning('OwnEndpointNotServed', 'OnlyBehindServer', message)];
}

function notConfined(spec: BackendSpec, world: World): Finding[] {
  if (world.platform.mode !== 'local' || !spec.command) return [];
  const written = (['permissionProfile', 'volumes', 'resources'] as const).filter((field) => spec[field] !== undefined);
  if (written.length === 0) return [];
  const message = `A command runs as a process of this machine, so ${written.join(', ')} cannot be enforced: use image without command to confine it.`;
  return [warning('NotConfined', 'PlainProcess', message)];
}

/** What of an MCPServer is not as its spec might make people think. */
export function findBackendWarnings(spec: BackendSpec, world: World): Finding[] {
  return [...ownEndpoint(spec, world), ...notConfined(spec, world)];
}
