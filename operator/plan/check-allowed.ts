import { type MCPExternalAuthConfig, transportOf } from '#crds/kinds/index';
import { Stalled } from '../errors.ts';
import type { BackendSpec } from './find-group-members.ts';
import type { Reach } from './reach-backend.ts';

const DEFAULT_PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' };

/** Returns whether `host`, `host:port` or `*.suffix` matches a URL. A pattern without a port matches all ports. */
export function hostMatches(pattern: string, url: string): boolean {
  const { hostname, port, protocol } = new URL(url);
  const [, host = '', wantedPort] = /^(.*?)(?::(\d+))?$/.exec(pattern.toLowerCase()) ?? [];
  if (wantedPort !== undefined && wantedPort !== (port || DEFAULT_PORTS[protocol])) return false;
  return host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host;
}

/** Prevents a tenant from joining a group with their own URL and another's configuration to receive every caller's tokens. */
export function checkAllowed(
  name: string,
  spec: BackendSpec,
  reach: Reach,
  reference: string,
  { type, allowedServers, allowedHosts }: MCPExternalAuthConfig['spec'],
): void {
  if (allowedServers && !allowedServers.includes(name)) {
    const message = `MCPExternalAuthConfig "${reference}" is not for this server: add "${name}" to its allowedServers, or refer to another`;
    throw new Stalled('ServerNotAllowed', message);
  }
  if (type === 'unauthenticated') return;
  if (reach.transport === 'stdio' || (spec.remoteUrl === undefined && transportOf(spec) === 'stdio')) {
    const message = `MCPExternalAuthConfig "${reference}" of type ${type} needs HTTP, and transport stdio has no headers: give it secrets, or another transport`;
    throw new Stalled('StdioHasNoCredentials', message);
  }
  if (!allowedHosts || allowedHosts.some((pattern) => hostMatches(pattern, reach.url))) return;
  const { host } = new URL(reach.url);
  const message = `MCPExternalAuthConfig "${reference}" may not be sent to ${host}: add it to its allowedHosts, or refer to another`;
  throw new Stalled('HostNotAllowed', message);
}
