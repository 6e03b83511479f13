import { transportOf } from '#crds/kinds/index';
import { hasOwnEndpoint } from '#operator/plan/own-endpoint';
import { Problem } from '../problem.ts';
import { RECORDED_ONLY } from '../records/recorded-only.ts';
import { sameValue } from '../same-value.ts';
import type { StoredResource } from '../stores/resources.ts';
import { type Edited, type DetailOptions, recordedOf } from './detail.ts';
import type { Recorded } from './field.ts';
import { isIsolated, profileOf } from './permission-fields.ts';
import { orNothing, readSpec, type Spec } from './spec.ts';

type Found = Pick<DetailOptions, 'hasPaths' | 'profile'>;

/** A local engine gives a container the whole network, or none. */
function isLimited(profile: Found['profile']): boolean {
  const { outbound, mode } = profile?.network ?? {};
  const named = [...(outbound?.allow_host ?? []), ...(outbound?.allow_port ?? [])];
  return mode !== 'none' && outbound?.insecure_allow_all !== true && named.length > 0;
}

function unenforced(spec: Spec, { hasPaths, profile }: Found): string | undefined {
  const wanted = profileOf(spec, { profile });
  const { outbound, mode } = wanted?.network ?? {};
  if (!isIsolated(wanted) || (outbound === undefined && mode !== 'none')) return undefined;
  if (spec.remoteUrl !== undefined) return 'a remote server runs elsewhere, so its network cannot be limited';
  if (!hasPaths) return undefined;
  if (spec.command)
    return 'a command runs as a process of this machine, so its network cannot be limited: use an image';
  if (isLimited(wanted))
    return 'a container engine knows no addresses and ports: send an empty outbound for no network';
  return undefined;
}

function recordedOnly(recorded: Recorded): string[] {
  const { headers, skip_browser, bearer_token_target, client_secret_target } = recorded;
  const { runtime_config, container_name, container_labels, ignore_config } = recorded;
  const values: Record<keyof typeof RECORDED_ONLY, unknown> = {
    headers,
    'oauth_config.skip_browser': skip_browser,
    'oauth_config.bearer_token.target': bearer_token_target,
    'oauth_config.client_secret.target': client_secret_target,
    runtime_config,
    container_name,
    container_labels,
    ignore_config,
  };
  return Object.entries(RECORDED_ONLY).flatMap(([field, why]) =>
    orNothing(values[field as keyof typeof RECORDED_ONLY]) === undefined ? [] : [`${field}: ${why}`],
  );
}

function ofEndpoint(spec: Spec): string[] {
  const own = hasOwnEndpoint(spec);
  return [
    ...(spec.debug === true && !own ? ['debug: it has no endpoint of its own: send proxy_port to give it one'] : []),
    ...(spec.trustProxyHeaders === true && (!own || !spec.trustedProxies?.length)
      ? ['trust_proxy_headers: no record names the proxies: write trustedProxies in its MCPServer']
      : []),
  ];
}

function ofEngine(spec: Spec, { hasPaths }: Found): string[] {
  if (hasPaths && spec.image !== undefined && !spec.command) return [];
  const fields = {
    publish: spec.publish,
    allow_docker_gateway: spec.allowDockerGateway,
    env_file_dir: spec.envFileDir,
  };
  return Object.entries(fields)
    .filter(([, value]) => orNothing(value) !== undefined)
    .map(([field]) => `${field}: no container engine of one machine runs it`);
}

/** Names volumes, folders and privileges, which do not apply to a local process. */
function ofProcess(spec: Spec, { hasPaths, profile }: Found): string[] {
  if (!hasPaths || !spec.command) return [];
  const { read, write, privileged } = profileOf(spec, { profile }) ?? {};
  const fields = {
    volumes: spec.volumes,
    'permission_profile.read': read,
    'permission_profile.write': write,
    'permission_profile.privileged': privileged === true ? privileged : undefined,
  };
  return Object.entries(fields)
    .filter(([, value]) => orNothing(value) !== undefined)
    .map(([field]) => `${field}: a command runs as a process of this machine: use an image`);
}

/** Settings beside `remoteUrl`, and a port beside transport stdio. */
function ofProgram(spec: Spec): string[] {
  const { args, env, secrets, volumes, mcpPort, remoteUrl } = spec;
  const port = { target_port: mcpPort };
  const fields = { cmd_arguments: args, env_vars: env, secrets, volumes, ...port };
  const told = (found: object, why: string) =>
    Object.entries(found).flatMap(([field, value]) => (orNothing(value) === undefined ? [] : [`${field}: ${why}`]));
  if (remoteUrl !== undefined)
    return told(fields, 'a remote server runs elsewhere: send image or command to run one here');
  return transportOf(spec) === 'stdio' ? told(port, 'transport stdio has no port: send another transport') : [];
}

const SAID = 'accepted, without effect here: ';

export function withoutEffect(resource: Pick<StoredResource, 'spec' | 'annotations'>, found: Found): string[] {
  const spec = readSpec(resource.spec);
  const why = unenforced(spec, found);
  return [
    ...recordedOnly(recordedOf(resource)),
    ...ofEndpoint(spec),
    ...ofProgram(spec),
    ...ofEngine(spec, found),
    ...ofProcess(spec, found),
    ...(why === undefined ? [] : [`permission_profile.network: ${why}`]),
  ].map((line) => SAID + line);
}

const ISOLATING = ['permissionProfile', 'command', 'remoteUrl', 'image'] as const;

/** @throws Problem `bad_request` for added isolation that nothing enforces */
export function checkIsolation(edited: Edited, before: StoredResource, found: Found): void {
  const isChanged = ISOLATING.some((field) => !sameValue(edited.spec[field], before.spec[field]));
  if (!isChanged && edited.profile === undefined) return;
  const why = unenforced(readSpec(edited.spec), { ...found, profile: edited.profile ?? found.profile });
  if (why === undefined) return;
  const remedy =
    'leave network_isolation and permission_profile.network.outbound out, or send force=true to accept them without effect';
  throw new Problem('bad_request', `body network_isolation: ${why}; ${remedy}`);
}
