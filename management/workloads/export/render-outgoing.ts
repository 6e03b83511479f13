import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { MCPExternalAuthConfigSpec } from '#crds/kinds/mcp-external-auth-config';
import { nameRemoteRecords } from '#crds/run-config/remote-record';
import type { RunConfiguration } from '../../records/run-configuration.ts';
import { referenceText } from '../secret-reference.ts';
import { present, type Spec } from '../spec.ts';
import { renderAuthServer } from './render-auth-server.ts';

export type Credential = z.output<typeof MCPExternalAuthConfigSpec>;

function renderExchange({ tokenExchange }: Credential) {
  if (!tokenExchange) return undefined;
  const header = tokenExchange.externalTokenHeaderName;
  return present({
    token_url: tokenExchange.tokenUrl,
    client_id: tokenExchange.clientId,
    client_secret: tokenExchange.clientSecretRef && referenceText(tokenExchange.clientSecretRef),
    audience: tokenExchange.audience,
    scopes: tokenExchange.scopes,
    subject_token_type: tokenExchange.subjectTokenType,
    external_token_header_name: header,
    header_strategy: header === undefined ? 'replace' : 'custom',
  });
}

function renderAws({ awsSts }: Credential) {
  if (!awsSts) return undefined;
  const mappings = awsSts.roleMappings?.map(({ roleArn, claim, matcher, priority }) => ({
    role_arn: roleArn,
    ...present({ claim, matcher, priority }),
  }));
  return present({
    region: awsSts.region,
    service: awsSts.service,
    role_claim: awsSts.roleClaim,
    role_mappings: mappings,
    fallback_role_arn: awsSts.fallbackRoleArn,
    session_duration: awsSts.sessionDuration,
    session_name_claim: awsSts.sessionNameClaim,
  });
}

function renderSwap({ upstreamInject, embeddedAuthServer }: Credential) {
  if (upstreamInject) return { provider_name: upstreamInject.providerName, header_strategy: 'replace' as const };
  if (!embeddedAuthServer) return undefined;
  const { headerStrategy, customHeaderName, upstreamProviders } = embeddedAuthServer;
  return present({
    provider_name: upstreamProviders[0]?.name,
    header_strategy: headerStrategy,
    custom_header_name: customHeaderName,
  });
}

/** Skips a fixed token and a given client, which have no records. */
function cachedRecords({ remoteUrl: url, remoteAuth: auth }: Spec) {
  if (!auth || url === undefined || auth.bearerTokenSecretRef) return {};
  const { issuer, authorizeUrl: authorize_url, tokenUrl: token_url, clientId: client_id, resource } = auth;
  const login = { url, ...present({ issuer, authorize_url, token_url, client_id, resource }) };
  const { tokens, client } = nameRemoteRecords(login, (text) => hash('sha256', text, 'hex'));
  const registered = client_id === undefined ? client : undefined;
  return { cached_refresh_token_ref: tokens, cached_client_id: registered, cached_client_secret_ref: registered };
}

function renderRemote(spec: Spec, skipBrowser: boolean | undefined) {
  const { remoteAuth: auth } = spec;
  if (!auth) return undefined;
  return present({
    ...cachedRecords(spec),
    issuer: auth.issuer,
    authorize_url: auth.authorizeUrl,
    token_url: auth.tokenUrl,
    client_id: auth.clientId,
    client_secret: auth.clientSecretRef && referenceText(auth.clientSecretRef),
    bearer_token: auth.bearerTokenSecretRef && referenceText(auth.bearerTokenSecretRef),
    scopes: auth.scopes,
    resource: auth.resource,
    oauth_params: auth.oauthParams,
    use_pkce: auth.usePkce,
    callback_port: auth.callbackPort,
    skip_browser: skipBrowser,
    timeout: auth.timeout,
  });
}

export function renderOutgoing(
  spec: Spec,
  credential: Credential | undefined,
  { skipBrowser, audience }: { skipBrowser: boolean | undefined; audience: string | undefined },
): Partial<RunConfiguration> {
  const server = credential?.embeddedAuthServer;
  return {
    ...present({
      token_exchange_config: credential && renderExchange(credential),
      aws_sts_config: credential && renderAws(credential),
      upstream_swap_config: credential && renderSwap(credential),
      embedded_auth_server_config: server && renderAuthServer(server, audience),
      remote_auth_config: renderRemote(spec, skipBrowser),
    }),
  };
}
