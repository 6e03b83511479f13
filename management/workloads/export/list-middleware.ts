import type { RunConfiguration } from '../../records/run-configuration.ts';
import { present, type Spec } from '../spec.ts';

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
export function listMiddleware(
  spec: Spec,
  config: Partial<RunConfiguration>,
  credential: string | undefined,
): Middleware[] {
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
