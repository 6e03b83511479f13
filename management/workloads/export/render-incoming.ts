import { millisecondsOf } from '#crds/parts/primitives';
import { caBundleOf, type CaBundleRef } from '#crds/parts/references';
import type { RunConfiguration } from '../../records/run-configuration.ts';
import { referenceText } from '../secret-reference.ts';
import { orNothing, present, type Spec } from '../spec.ts';

type Webhook = NonNullable<RunConfiguration['validating_webhooks']>[number];
type Written = NonNullable<NonNullable<Spec['webhooks']>['validating']>[number];

export const configMapText = ({ name, key }: { name: string; key?: string | undefined }): string =>
  `configmap:${name}/${key ?? ''}`;

export const caBundleText = (reference: CaBundleRef | undefined): string | undefined =>
  reference && configMapText(caBundleOf(reference));

function renderWebhook({ name, url, timeout, failurePolicy, hmacSecretRef, tls }: Written): Webhook {
  const tlsConfig = tls && {
    insecure_skip_verify: tls.insecureSkipVerify,
    ...present({
      ca_bundle_path: caBundleText(tls.caBundleRef),
      client_cert_path: tls.clientCertSecretRef && referenceText(tls.clientCertSecretRef),
      client_key_path: tls.clientKeySecretRef && referenceText(tls.clientKeySecretRef),
    }),
  };
  return {
    name,
    url,
    timeout: Math.ceil(millisecondsOf(timeout) / 1000),
    failure_policy: failurePolicy,
    ...present({ hmac_secret_ref: hmacSecretRef && referenceText(hmacSecretRef), tls_config: tlsConfig }),
  };
}

export const resourceUrlOf = ({ oidcConfig, oidcConfigRef }: Spec): string | undefined =>
  oidcConfig?.resourceUrl ?? oidcConfigRef?.resourceUrl;

/** `shared` is the content of the referenced MCPOIDCConfig or ConfigMap. */
function issuerOf({ oidcConfig, oidcConfigRef }: Spec, shared: Issuer | undefined): Issuer | undefined {
  if (oidcConfig) return oidcConfig.inline ?? oidcConfig.kubernetes ?? shared ?? {};
  return oidcConfigRef && { ...shared, audience: oidcConfigRef.audience, scopes: oidcConfigRef.scopes };
}

function renderOidc(spec: Spec, shared: Issuer | undefined) {
  const issuer = issuerOf(spec, shared);
  if (!issuer) return undefined;
  return present({
    issuer: issuer.issuer,
    audience: issuer.audience,
    clientID: issuer.clientId,
    clientSecret: issuer.clientSecretRef && referenceText(issuer.clientSecretRef),
    introspectionURL: issuer.introspectionUrl,
    jwksurl: issuer.jwksUrl,
    resourceURL: resourceUrlOf(spec),
    scopes: orNothing(issuer.scopes),
    allowPrivateIP: issuer.jwksAllowPrivateIP,
    insecureAllowHTTP: issuer.insecureAllowHTTP,
    authTokenFile: issuer.jwksAuthTokenPath,
    cacertPath: caBundleText(issuer.caBundleRef),
  });
}

type Inline = NonNullable<NonNullable<Spec['oidcConfig']>['inline']>;
export type Issuer = { [K in keyof Inline]?: Inline[K] | undefined };

export function renderIncoming(spec: Spec, shared: Issuer | undefined): Partial<RunConfiguration> {
  const { authzConfig, audit, telemetry, webhooks } = spec;
  const policies = authzConfig?.configMap;
  // The record cannot hold references to the telemetry secrets.
  const settings = { ...telemetry };
  delete settings.headersFromSecret;
  delete settings.caBundleRef;
  return {
    ...present({
      oidc_config: renderOidc(spec, shared),
      authz_config: authzConfig && { type: 'cedarv1' as const, version: '1.0' as const },
      authz_config_path: policies && configMapText(policies),
      jwks_auth_token_file: issuerOf(spec, shared)?.jwksAuthTokenPath,
      audit_config: audit,
      telemetry_config: telemetry && settings,
      validating_webhooks: orNothing(webhooks?.validating?.map(renderWebhook)),
    }),
  };
}
