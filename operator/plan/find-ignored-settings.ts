import type { AggregationConfig } from '#crds/parts/aggregation';
import { nearest } from '#crds/parts/nearest';
import type { Redis } from '#crds/parts/storage';
import type { Snapshot } from '../snapshot.ts';
import type { ServerSpec } from './server-spec.ts';
import type { Finding } from './finding.ts';

type NameAt = [place: string, name: string];

const ignored = (type: string, reason: string, message: string): Finding => ({
  type,
  status: 'True',
  reason,
  message,
});

function namesIn({ tools = [], prompts = [], conflictResolutionConfig }: AggregationConfig): NameAt[] {
  const at = 'config.aggregation';
  const order = conflictResolutionConfig?.priorityOrder ?? [];
  return [
    ...tools.map(({ workload }, index): NameAt => [`${at}.tools[${index}].workload`, workload]),
    ...prompts.map(({ workload }, index): NameAt => [`${at}.prompts[${index}].workload`, workload]),
    ...order.map((name, index): NameAt => [`${at}.conflictResolutionConfig.priorityOrder[${index}]`, name]),
  ];
}

const keysOf = (at: string, map: object | undefined): NameAt[] =>
  Object.keys(map ?? {}).map((name) => [`${at}.${name}`, name]);

function unknownNames({ config, outgoingAuth }: ServerSpec, members: string[]): Finding[] {
  const { aggregation, operational } = config;
  const places: NameAt[] = [
    ...(aggregation ? namesIn(aggregation) : []),
    ...keysOf('config.operational.timeouts.perWorkload', operational?.timeouts.perWorkload),
    ...keysOf('outgoingAuth.backends', outgoingAuth.backends),
  ];
  const unknown = places.filter(([, name]) => !members.includes(name));
  if (unknown.length === 0) return [];
  const said = unknown.map(([place, name]) => {
    const meant = nearest(name, members);
    const remedy = meant === undefined ? 'correct or remove it' : `write "${meant}"`;
    return `${place}: no MCPServer of group "${config.groupRef}" has the name "${name}": ${remedy}`;
  });
  return [ignored('UnknownBackendNames', 'NotInGroup', said.join('; '))];
}

function issuerIgnored({ incomingAuth }: ServerSpec): Finding[] {
  const written = (['oidcConfig', 'oidcConfigRef'] as const).find((field) => incomingAuth[field] !== undefined);
  if (incomingAuth.type !== 'anonymous' || written === undefined) return [];
  const message = `incomingAuth.${written}: no token is checked with type anonymous: write type: oidc, or remove ${written}`;
  return [ignored('IssuerIgnored', 'Anonymous', message)];
}

function outgoingIgnored({ outgoingAuth }: ServerSpec): Finding[] {
  const written = (['backends', 'default'] as const).filter((field) => outgoingAuth[field] !== undefined);
  const [first] = written;
  if (outgoingAuth.source !== 'discovered' || first === undefined) return [];
  const fields = written.join(' and ');
  const message = `outgoingAuth.${first}: source discovered does not read ${fields}: write source: inline, or remove ${fields}`;
  return [ignored('OutgoingAuthIgnored', 'SourceDiscovered', message)];
}

function listenIgnored({ listen }: ServerSpec, { platform }: Pick<Snapshot, 'platform'>): Finding[] {
  if (listen?.port === undefined || platform.mode === 'local') return [];
  const message =
    'listen.port: an endpoint in a cluster listens on 4483, and this port counts on one machine only: remove it, or set the port where the Service is exposed';
  return [ignored('ListenIgnored', 'LocalModeOnly', message)];
}

function redisBlocks({ authServerConfig, sessionStorage, config }: ServerSpec): [place: string, redis: Redis][] {
  const written: [place: string, redis: Redis | undefined][] = [
    ['sessionStorage.redis', sessionStorage?.redis],
    ['config.sessionStorage.redis', config.sessionStorage?.redis],
    ['authServerConfig.storage.redis', authServerConfig?.storage.redis],
  ];
  return written.flatMap(([place, redis]) => (redis ? [[place, redis]] : []));
}

/** Warns of Service names on one machine: only the DNS of their cluster resolves them. */
function sentinelsOfCluster(spec: ServerSpec, { platform }: Pick<Snapshot, 'platform'>): Finding[] {
  if (platform.mode === 'cluster') return [];
  const places = redisBlocks(spec).filter(([, { sentinelConfig }]) => sentinelConfig?.sentinelService !== undefined);
  if (places.length === 0) return [];
  const said = places.map(
    ([place]) =>
      `${place}.sentinelConfig.sentinelService: the name of a Service of Kubernetes is not known on one machine: write sentinelAddrs with host:port of each Sentinel`,
  );
  return [ignored('SentinelServiceUnknown', 'ClusterOnly', said.join('; '))];
}

/** Finds settings without effect. Each message begins with the field. */
export function findIgnoredSettings(
  spec: ServerSpec,
  members: string[],
  snapshot: Pick<Snapshot, 'platform'>,
): Finding[] {
  return [
    ...unknownNames(spec, members),
    ...issuerIgnored(spec),
    ...outgoingIgnored(spec),
    ...listenIgnored(spec, snapshot),
    ...sentinelsOfCluster(spec, snapshot),
  ];
}
