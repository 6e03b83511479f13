import { transportOf } from '#crds/kinds/index';
import type { Snapshot } from '../snapshot.ts';
import type { BackendSpec } from './find-group-members.ts';
import { hasOwnEndpoint } from './own-endpoint.ts';
import { ownValue } from './own-value.ts';
import { readPermissionProfile } from './read-permission-profile.ts';
import type { Finding } from './finding.ts';

const warning = (type: string, reason: string, message: string): Finding => ({ type, status: 'True', reason, message });

/** Settings that only an own endpoint uses and that do not request one. */
const OF_OWN_ENDPOINT = [
  'endpointPrefix',
  'trustProxyHeaders',
  'trustedProxies',
  'sessionAffinity',
  'sessionStorage',
  'audit',
  'telemetry',
  'debug',
  'replicas',
  'resourceOverrides',
] as const;

function withoutEndpoint(spec: BackendSpec): Finding[] {
  const written = OF_OWN_ENDPOINT.filter((field) => spec[field] !== undefined && spec[field] !== false);
  if (written.length === 0 || hasOwnEndpoint(spec)) return [];
  const [have, them] = written.length === 1 ? ['has', 'it'] : ['have', 'them'];
  const message = `It has no endpoint of its own, so ${written.join(', ')} ${have} no effect: write proxyPort to give it one, or write ${them} on the VirtualMCPServer in front of it.`;
  return [warning('NoOwnEndpoint', 'OnlyBehindServer', message)];
}

/** Trusting forwarding headers takes two settings: one that enables it and one that lists the proxies. */
function forwardingIgnored(spec: BackendSpec): Finding[] {
  const { trustProxyHeaders, trustedProxies = [] } = spec;
  if (!hasOwnEndpoint(spec) || trustProxyHeaders === trustedProxies.length > 0) return [];
  const message = trustProxyHeaders
    ? 'trustProxyHeaders is true and trustedProxies names nobody, so no forwarding header counts: write the address ranges of the proxies in front.'
    : 'trustedProxies has no effect, as trustProxyHeaders is false: write trustProxyHeaders: true, or remove trustedProxies.';
  return [warning('ForwardingHeadersIgnored', trustProxyHeaders ? 'NoTrustedProxies' : 'NotSwitchedOn', message)];
}

/** With an endpoint of its own, such a backend has nothing to serve and waits. */
function withoutCredentials(spec: BackendSpec, snapshot: Snapshot): Finding[] {
  const name = spec.externalAuthConfigRef?.name;
  if (name === undefined || hasOwnEndpoint(spec) || ownValue(snapshot.mcpExternalAuthConfigs, name)) return [];
  const message = `externalAuthConfigRef names MCPExternalAuthConfig "${name}", which does not exist: create it. No VirtualMCPServer contacts it until then, unless its outgoingAuth gives it something else.`;
  return [warning('NoCredentials', 'AuthConfigNotFound', message)];
}

/** Reports a misspelt group name: the only other sign is a missing member in the intended group. */
function withoutGroup({ groupRef }: BackendSpec, snapshot: Snapshot): Finding[] {
  if (groupRef === undefined || ownValue(snapshot.mcpGroups, groupRef)) return [];
  const message = `groupRef names MCPGroup "${groupRef}", which does not exist, so no VirtualMCPServer offers this server: create it, or correct the name.`;
  return [warning('NoGroup', 'GroupNotFound', message)];
}

function notConfined(spec: BackendSpec, snapshot: Snapshot): Finding[] {
  if (snapshot.platform.mode !== 'local' || !spec.command) return [];
  const written = (['permissionProfile', 'volumes', 'resources'] as const).filter((field) => spec[field] !== undefined);
  if (written.length === 0) return [];
  const message = `A command runs as a process of this machine, so ${written.join(', ')} cannot be enforced: use image without command to confine it.`;
  return [warning('NotConfined', 'PlainProcess', message)];
}

const OF_PROGRAM = [
  'args',
  'env',
  'secrets',
  'mcpPort',
  'path',
  'volumes',
  'permissionProfile',
  'resources',
  'serviceAccount',
  'podTemplateSpec',
  'backendReplicas',
] as const;

function withoutProgram(spec: BackendSpec): Finding[] {
  if (spec.remoteUrl === undefined) return [];
  const written = OF_PROGRAM.filter((field) => spec[field] !== undefined);
  if (written.length === 0) return [];
  const message = `A remote server runs elsewhere, so these settings have no effect: ${written.join(', ')}. Remove them, or write image or command in place of remoteUrl.`;
  return [warning('NoProgram', 'RemoteServer', message)];
}

function withoutHttp(spec: BackendSpec): Finding[] {
  if (spec.remoteUrl !== undefined || transportOf(spec) !== 'stdio') return [];
  const written = (['mcpPort', 'path', 'caBundleRef'] as const).filter((field) => spec[field] !== undefined);
  if (written.length === 0) return [];
  const message = `Nothing is sent by HTTP with transport stdio, so these settings have no effect: ${written.join(', ')}. Remove them, or write another transport.`;
  return [warning('NoHttp', 'TransportStdio', message)];
}

function withoutEngine(spec: BackendSpec, snapshot: Snapshot): Finding[] {
  if (snapshot.platform.mode === 'local' && spec.image !== undefined && !spec.command) return [];
  const written = (['publish', 'allowDockerGateway', 'envFileDir'] as const).filter(
    (field) => spec[field] !== undefined,
  );
  if (written.length === 0) return [];
  const message = `No container engine of one machine runs it, so ${written.join(', ')} have no effect: they are kept.`;
  return [warning('NoEngine', 'NotAContainer', message)];
}

/** Warns of egress rules on one machine: an engine gives a container the network or none. */
function egressOfContainer(name: string, spec: BackendSpec, snapshot: Snapshot): Finding[] {
  if (snapshot.platform.mode !== 'local' || spec.command || spec.remoteUrl !== undefined) return [];
  const { egress } = readPermissionProfile(name, spec, snapshot);
  if (!egress || (!egress.everywhere && egress.addresses.length === 0)) return [];
  const message = `A container engine knows no addresses and ports, so every address may be reached, not those of the permission profile alone: write an empty outbound for no network at all, or limit it by a firewall.`;
  return [warning('EgressNotEnforced', 'ContainerEngine', message)];
}

function limitsOfContainer({ image, command, resources }: BackendSpec, { platform }: Snapshot): Finding[] {
  if (platform.mode !== 'local' || !platform.limitsIgnored || image === undefined || command) return [];
  const written = (['memory', 'cpu'] as const).filter((limit) => resources?.limits?.[limit] !== undefined);
  if (written.length === 0) return [];
  const message = `podman without root holds no limit on this machine, whose control groups are of version 1, so ${written.join(' and ')} of resources.limits have no effect: run vmcp as root, or start the machine with control groups of version 2.`;
  return [warning('LimitsNotEnforced', 'ControlGroupsV1', message)];
}

export function findBackendWarnings(name: string, spec: BackendSpec, snapshot: Snapshot): Finding[] {
  return [
    ...withoutEndpoint(spec),
    ...forwardingIgnored(spec),
    ...withoutCredentials(spec, snapshot),
    ...withoutGroup(spec, snapshot),
    ...withoutProgram(spec),
    ...withoutHttp(spec),
    ...notConfined(spec, snapshot),
    ...withoutEngine(spec, snapshot),
    ...egressOfContainer(name, spec, snapshot),
    ...limitsOfContainer(spec, snapshot),
  ];
}
