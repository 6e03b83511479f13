import type { RunConfig } from '#crds/run-config/run-config';
import type { GatewayOptions } from '#runtime/gateway-options';
import { createHostOriginCheck, hostsAndOrigins, type HostOriginCheck } from '#runtime/http/check-host-origin';

export function buildHostOriginCheck(
  { resource_url: resourceUrl, embedded_auth_server_config: authServer, listen, ...config }: RunConfig,
  listening: GatewayOptions['listening'],
): HostOriginCheck {
  const urls = [resourceUrl, authServer?.issuer, authServer?.authorization_endpoint_base_url];
  const settings = hostsAndOrigins({
    urls: urls.filter((url) => url !== undefined),
    listen: { ...listening, tls: listen.tls !== undefined },
    allowedHosts: config.allowed_hosts,
    allowedOrigins: config.allowed_origins,
  });
  return createHostOriginCheck(settings);
}
