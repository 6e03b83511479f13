import { backendChild } from '#operator/plan/child-names';
import { transportOf } from '#crds/kinds/index';
import { sentinelAddresses } from '#crds/parts/storage';
import type { RunConfiguration } from '../../records/run-configuration.ts';
import type { WorkloadDetail } from '../../records/workload.ts';
import { mapping, orNothing, present, type Spec } from '../spec.ts';
import { caBundleText, configMapText } from './render-incoming.ts';

export interface RenderOptions {
  host: string;
  port: number | undefined;
  targetHost: string;
}

function profileText({ permissionProfile: profile }: Spec): string | undefined {
  return profile?.type === 'configmap' ? configMapText(profile) : profile?.name;
}

const secretTexts = ({ secrets = [] }: WorkloadDetail): string[] =>
  secrets.map(({ name, target }) => `${name},target=${target ?? name.split('/')[1] ?? ''}`);

function labelsOf({ podTemplateSpec }: Spec): Record<string, string> | undefined {
  const labels = mapping(mapping(mapping(podTemplateSpec).metadata).labels);
  return orNothing(Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)])));
}

type Storage = NonNullable<Spec['sessionStorage']>;
type Redis = NonNullable<Storage['redis']>;

const addressOf = ({ addr, sentinelConfig }: Redis): string | undefined =>
  addr ?? (sentinelConfig && sentinelAddresses(sentinelConfig).join(','));

function sharedSessions({ address, db, keyPrefix, redis }: Storage) {
  if (address !== undefined) return { address, db: db ?? 0, ...present({ key_prefix: keyPrefix }) };
  return (
    redis &&
    present({
      address: addressOf(redis),
      db: redis.db ?? redis.sentinelConfig?.db ?? 0,
      key_prefix: redis.keyPrefix,
    })
  );
}

const scaling = ({ backendReplicas, sessionStorage }: Spec) =>
  present({ backend_replicas: backendReplicas, session_redis: sessionStorage && sharedSessions(sessionStorage) });

export function renderProgram(spec: Spec, detail: WorkloadDetail, where: RenderOptions): Partial<RunConfiguration> {
  const { name = '' } = detail;
  const isRemote = spec.remoteUrl !== undefined;
  return {
    base_name: name,
    transport: transportOf(spec),
    proxy_mode: spec.proxyMode ?? 'streamable-http',
    host: where.host,
    trust_proxy_headers: spec.trustProxyHeaders ?? false,
    isolate_network: detail.network_isolation ?? false,
    ...present({
      container_name: isRemote ? undefined : backendChild(name),
      group: spec.groupRef,
      image: spec.image,
      remote_url: spec.remoteUrl,
      port: where.port,
      target_host: isRemote ? undefined : where.targetHost,
      target_port: spec.mcpPort,
      endpoint_prefix: spec.endpointPrefix,
      permission_profile_name_or_path: profileText(spec),
      k8s_pod_template_patch: spec.podTemplateSpec && JSON.stringify(spec.podTemplateSpec),
      vmcp_ca_bundle: caBundleText(spec.caBundleRef),
      cmd_args: orNothing([...(spec.command ?? []).slice(1), ...(spec.args ?? [])]),
      env_vars: detail.env_vars,
      secrets: orNothing(secretTexts(detail)),
      volumes: detail.volumes,
      tools_filter: detail.tools,
      tools_override: detail.tools_override,
      header_forward: detail.header_forward,
      container_labels: labelsOf(spec),
      scaling_config: scaling(spec),
      publish: detail.publish,
      allow_docker_gateway: detail.allow_docker_gateway,
      env_file_dir: detail.env_file_dir,
      debug: detail.debug,
      registry_url: detail.registry_url,
      registry_api_url: detail.registry_api_url,
      runtime_config: detail.runtime_config,
      ignore_config: detail.ignore_config,
    }),
  };
}
