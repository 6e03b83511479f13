import { InlineOfCedarDocument } from '#crds/parts/authz-config';
import { isLoopbackHost } from '#crds/parts/private-address';
import type { InlineOidc } from '#crds/parts/oidc-config';
import { Problem } from '../problem.ts';
import type { Fields } from './field.ts';
import { readReference, referenceText } from './secret-reference.ts';
import type { WorkloadDetail } from '../records/workload.ts';
import { mapping, orNothing, present, type Spec, type SpecChange } from './spec.ts';

/** `configmap:<name>/<key>` refers to policies in a ConfigMap. */
const CONFIG_MAP = /^configmap:([a-z0-9][-.a-z0-9]*)\/([-._A-Za-z0-9]+)$/;

function readAuthz(text: string): object {
  const [, name, key] = CONFIG_MAP.exec(text) ?? [];
  if (name !== undefined) return { type: 'configMap', configMap: { name, key } };
  const form = '{"version":"1.0","type":"cedarv1","cedar":{"policies":[…],"entities_json":"[]"}}';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem('bad_request', `body authz_config: not JSON; write ${form}, or configmap:<name>/<key>`);
  }
  const { data } = InlineOfCedarDocument.safeParse(value);
  if (!data) throw new Problem('bad_request', `body authz_config: write ${form}`);
  return { type: 'inline', inline: data };
}

function writeAuthz({ authzConfig }: Spec): string | undefined {
  if (authzConfig?.configMap) return `configmap:${authzConfig.configMap.name}/${authzConfig.configMap.key}`;
  if (!authzConfig?.inline) return undefined;
  const { policies, entitiesJson } = authzConfig.inline;
  return JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies, entities_json: entitiesJson } });
}

const reference = (text: string | undefined, field: string) =>
  text === undefined || text === '' ? undefined : readReference(text, field);

type Issuer = { [K in keyof InlineOidc]?: InlineOidc[K] | undefined };

function issuerOf({ oidcConfig, oidcConfigRef }: Spec): Issuer {
  if (oidcConfig?.inline) return oidcConfig.inline;
  if (oidcConfig?.kubernetes) return oidcConfig.kubernetes;
  return oidcConfigRef ? { audience: oidcConfigRef.audience, scopes: oidcConfigRef.scopes } : {};
}

type Oidc = NonNullable<WorkloadDetail['oidc']>;

const isOfMachine = (issuer: unknown): boolean => {
  const url = typeof issuer === 'string' ? URL.parse(issuer) : null;
  return url !== null && isLoopbackHost(url.hostname);
};

/** Allows http and the private address, because no other field of a record can express this. */
function ofLoopback(issuer: string, hasPaths: boolean): Partial<InlineOidc> {
  if (!hasPaths || !isOfMachine(issuer)) return {};
  return { jwksAllowPrivateIP: true, ...(issuer.startsWith('http:') && { insecureAllowHTTP: true }) };
}

/** Drops the loopback permissions when an issuer on another host replaces one of this machine. */
function keptInline(inline: unknown, issuer: string): Record<string, unknown> {
  const { jwksAllowPrivateIP, insecureAllowHTTP, ...others } = mapping(inline);
  return isOfMachine(others.issuer) && !isOfMachine(issuer)
    ? others
    : (present({ ...others, jwksAllowPrivateIP, insecureAllowHTTP }) ?? {});
}

/** Writes an issuer only where it is defined: cluster and shared issuers have no URL in this spec. */
function writeIssuer(value: Oidc, config: unknown, shared: unknown, hasPaths: boolean): SpecChange {
  const { type, kubernetes, inline, resourceUrl } = mapping(config);
  const [audience, scopes] = [orNothing(value.audience), orNothing(value.scopes)];
  if (value.issuer === undefined && type === 'kubernetes')
    return { oidcConfig: { ...mapping(config), kubernetes: present({ ...mapping(kubernetes), audience }) } };
  if (value.issuer === undefined && shared !== undefined)
    return { oidcConfigRef: present({ ...mapping(shared), audience, scopes }) };
  if (value.issuer === undefined)
    throw new Problem('bad_request', 'body oidc.issuer: required field is missing; write a URL');
  const block = present({
    ...ofLoopback(value.issuer, hasPaths),
    ...(type === 'inline' && keptInline(inline, value.issuer)),
    issuer: value.issuer,
    audience,
    clientId: orNothing(value.client_id),
    clientSecretRef: reference(value.client_secret, 'oidc.client_secret'),
    introspectionUrl: orNothing(value.introspection_url),
    jwksUrl: orNothing(value.jwks_url),
    scopes,
  });
  return { oidcConfig: present({ type: 'inline', resourceUrl, inline: block }), oidcConfigRef: undefined };
}

export const AUTH_FIELDS: Fields<'authz_config' | 'oidc' | 'oauth_config'> = {
  authz_config: {
    read: writeAuthz,
    write: (value, { authzConfig }) => {
      const { mode } = mapping(authzConfig);
      const change = value === undefined ? undefined : { ...readAuthz(value), ...(mode !== undefined && { mode }) };
      return { spec: { authzConfig: change } };
    },
  },
  oidc: {
    read(spec) {
      const { clientSecretRef, ...issuer } = issuerOf(spec);
      return present({
        issuer: issuer.issuer,
        audience: issuer.audience,
        client_id: issuer.clientId,
        client_secret: clientSecretRef && referenceText(clientSecretRef),
        introspection_url: issuer.introspectionUrl,
        jwks_url: issuer.jwksUrl,
        scopes: orNothing(issuer.scopes),
      });
    },
    write: (value, { oidcConfig, oidcConfigRef }, { hasPaths }) => ({
      spec:
        value === undefined
          ? { oidcConfig: undefined, oidcConfigRef: undefined }
          : writeIssuer(value, oidcConfig, oidcConfigRef, hasPaths),
    }),
  },
  oauth_config: {
    read: ({ remoteAuth: auth }, { recorded }) => {
      const target = (ref: NonNullable<typeof auth>['clientSecretRef'], named: string | undefined) =>
        ref && { name: referenceText(ref), ...(named !== undefined && { target: named }) };
      return present({
        issuer: auth?.issuer,
        authorize_url: auth?.authorizeUrl,
        token_url: auth?.tokenUrl,
        client_id: auth?.clientId,
        client_secret: target(auth?.clientSecretRef, recorded.client_secret_target),
        bearer_token: target(auth?.bearerTokenSecretRef, recorded.bearer_token_target),
        scopes: orNothing(auth?.scopes),
        resource: auth?.resource,
        oauth_params: orNothing(auth?.oauthParams),
        use_pkce: auth?.usePkce,
        callback_port: auth?.callbackPort,
        skip_browser: recorded.skip_browser,
      });
    },
    write: (value, { remoteAuth }, { recorded }) => {
      const { skip_browser, ...auth } = value ?? {};
      const fields = present({
        issuer: orNothing(auth.issuer),
        authorizeUrl: orNothing(auth.authorize_url),
        tokenUrl: orNothing(auth.token_url),
        clientId: orNothing(auth.client_id),
        clientSecretRef: reference(auth.client_secret?.name, 'oauth_config.client_secret.name'),
        bearerTokenSecretRef: reference(auth.bearer_token?.name, 'oauth_config.bearer_token.name'),
        scopes: orNothing(auth.scopes),
        resource: orNothing(auth.resource),
        oauthParams: orNothing(auth.oauth_params),
        usePkce: auth.use_pkce,
        callbackPort: auth.callback_port === 0 ? undefined : auth.callback_port,
      });
      // The record has no fields for the login timeout and its administrators.
      const { timeout, administrators } = mapping(remoteAuth);
      const change = value && { ...fields, ...present({ timeout, administrators }) };
      const targets = {
        bearer_token_target: orNothing(auth.bearer_token?.target),
        client_secret_target: orNothing(auth.client_secret?.target),
      };
      return { spec: { remoteAuth: change }, recorded: { ...recorded, ...targets, skip_browser } };
    },
  },
};
