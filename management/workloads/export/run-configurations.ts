import type { z } from 'zod';
import { MCPExternalAuthConfigSpec } from '#crds/kinds/mcp-external-auth-config';
import { MCPOIDCConfigSpec } from '#crds/kinds/mcp-oidc-config';
import { readIssuer } from '#operator/plan/resolve-issuer';
import type { RunConfiguration } from '../../records/run-configuration.ts';
import type { ConfigMaps } from '../../stores/config-maps.ts';
import type { Resources, StoredResource } from '../../stores/resources.ts';
import { recordedOf, renderDetail } from '../detail.ts';
import { ownPortOf } from '../render-summary.ts';
import { readKey } from '../read-key.ts';
import { present, readSpec, type Spec } from '../spec.ts';
import type { PermissionProfiles } from '../permission-profiles.ts';
import type { WorkloadRuntime } from '../runtime.ts';
import type { Workloads } from '../workloads.ts';
import { type Issuer, renderIncoming, resourceUrlOf } from './render-incoming.ts';
import { type Credential, renderOutgoing } from './render-outgoing.ts';
import { renderProgram } from './render-program.ts';

interface Sources {
  workloads: Pick<Workloads, 'found'>;
  resources: Pick<Resources, 'get'>;
  configMaps: Pick<ConfigMaps, 'get'>;
  profiles: PermissionProfiles;
  runtime: Pick<WorkloadRuntime, 'host' | 'hasPaths' | 'targetHost'>;
}

/** Renders run configurations of the workloads in one namespace. */
export class RunConfigurations {
  readonly #in: Sources;

  constructor(sources: Sources) {
    this.#in = sources;
  }

  /** Secrets are references. @throws Problem `not_found` */
  async render(name: string): Promise<RunConfiguration> {
    const { workloads, profiles, runtime } = this.#in;
    const resource = await workloads.found(name);
    const spec = readSpec(resource.spec);
    const { host, hasPaths } = runtime;
    const { profile } = await profiles.read(resource);
    const detail = renderDetail(resource, { host, hasPaths, profile });
    const where = { host, port: ownPortOf(resource), targetHost: runtime.targetHost(name) };
    const credential = await this.#credential(spec);
    const audience = resourceUrlOf(spec);
    const skipBrowser = recordedOf(resource).skip_browser;
    const config = {
      ...renderProgram(spec, detail, where),
      ...renderIncoming(spec, await this.#sharedIssuer(spec)),
      ...renderOutgoing(spec, credential, { skipBrowser, audience }),
    };
    const outgoing = spec.remoteAuth ? 'remoteAuth' : credential?.type;
    return { schema_version: 'v0.1.0', name, ...config, middleware_configs: listMiddleware(spec, config, outgoing) };
  }

  async #credential({ externalAuthConfigRef: reference }: Spec): Promise<Credential | undefined> {
    return this.#specOf('MCPExternalAuthConfig', reference?.name, MCPExternalAuthConfigSpec);
  }

  async #sharedIssuer({ oidcConfig, oidcConfigRef: reference }: Spec): Promise<Issuer | undefined> {
    const place = oidcConfig?.configMap;
    if (place) return readKey(await this.#in.configMaps.get(place.name), place.key, readIssuer);
    const spec = await this.#specOf('MCPOIDCConfig', reference?.name, MCPOIDCConfigSpec);
    return spec?.inline ?? spec?.kubernetesServiceAccount;
  }

  async #specOf<S extends z.ZodType>(
    kind: StoredResource['kind'],
    name: string | undefined,
    schema: S,
  ): Promise<z.output<S> | undefined> {
    const resource = name === undefined ? undefined : await this.#in.resources.get(kind, name);
    return resource && schema.safeParse(resource.spec).data;
  }
}

type Middleware = RunConfiguration['middleware_configs'][number];

const middleware = (type: string, parameters: object | undefined): Middleware[] =>
  parameters === undefined ? [] : [{ type, parameters: { ...parameters } }];

function headersIn({ header_forward: headers }: Partial<RunConfiguration>): object | undefined {
  if (!headers) return undefined;
  const { add_plaintext_headers: plain = {}, add_headers_from_secret: secret = {} } = headers;
  return { headers: [...Object.keys(plain), ...Object.keys(secret)] };
}

function toolsIn({ tools_filter: filter, tools_override: override }: Partial<RunConfiguration>): object | undefined {
  return present({ filter, override });
}

function authenticationIn({ oidc_config: oidc }: Partial<RunConfiguration>): object {
  return oidc ? { type: 'oidc', issuer: oidc.issuer, audience: oidc.audience } : { type: 'anonymous' };
}

/** Follows the order in docs/internals/lifecycle.md; names no secrets. */
function listMiddleware(spec: Spec, config: Partial<RunConfiguration>, credential: string | undefined): Middleware[] {
  const { validating_webhooks: webhooks, authz_config: policies } = config;
  return [
    ...middleware('audit', spec.audit?.enabled === true ? spec.audit : undefined),
    ...middleware('telemetry', spec.telemetry),
    ...middleware('host_origin', { trust_proxy_headers: spec.trustProxyHeaders === true }),
    ...middleware('authentication', authenticationIn(config)),
    ...middleware('rate_limiting', spec.rateLimiting),
    ...middleware('tools', toolsIn(config)),
    ...middleware('authorization', policies && { ...policies, mode: spec.authzConfig?.mode }),
    ...middleware('validating_webhooks', webhooks && { names: webhooks.map(({ name }) => name) }),
    ...middleware('outgoing_authentication', credential === undefined ? undefined : { type: credential }),
    ...middleware('header_forward', headersIn(config)),
  ];
}
