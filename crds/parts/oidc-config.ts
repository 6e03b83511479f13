import { z } from 'zod';
import { KUBERNETES_AUDIENCE } from './defaults.ts';
import { oneBlockPerType } from './one-block-per-type.ts';
import { LOOPBACK_HOST } from './private-address.ts';
import { DnsLabel, HttpUrl, IdentifierUrl, ObjectName, Scopes, text } from './primitives.ts';
import { CaBundleRef, configMapKeyRef, SecretKeyRef } from './references.ts';
import { celHas, celPath, celString, needs, type Rule, valueAt, withRules } from './rule.ts';

const SECURE_URL = `^(https://|http://${LOOPBACK_HOST}(:[0-9]+)?(/|$))`;

/** http on loopback only. A missing URL passes. */
export const urlIsSecure = {
  holds: (url: unknown) => typeof url !== 'string' || new RegExp(SECURE_URL).test(url),
  cel: (path: string[], root = 'self') =>
    `!(${celHas(path, root)}) || ${celPath(path, root)}.matches(${celString(SECURE_URL)})`,
};

const Audience = text(2048).describe('`aud` that a token must have. Absent: the resourceUrl; neither: not checked.');

/** An issuer without the settings of its users, audience and scopes. */
const issuer = {
  issuer: IdentifierUrl.describe('Issuer of the tokens, compared byte for byte with `iss`.'),
  clientId: text(512).optional().describe('Client identifier for token introspection.'),
  clientSecretRef: SecretKeyRef.optional().describe(
    'Client secret; with it opaque tokens are introspected (RFC 7662).',
  ),
  jwksUrl: HttpUrl.optional().describe('Key set. Absent: found by the discovery document of the issuer.'),
  introspectionUrl: HttpUrl.optional().describe('Introspection endpoint. Absent: found by discovery.'),
  caBundleRef: CaBundleRef.optional(),
  jwksAuthTokenPath: z
    .string()
    .max(4096)
    .regex(
      /^\/var\/run\/secrets\/([A-Za-z0-9_-]+[A-Za-z0-9._-]*\/)*[A-Za-z0-9_-]+[A-Za-z0-9._-]*$/,
      'not a file below /var/run/secrets/; write its absolute path without ..',
    )
    .optional()
    .describe('File with a bearer token for the key set. Only below /var/run/secrets/.'),
  insecureAllowHTTP: z.boolean().default(false).describe('Allow an http issuer that is not on loopback.'),
  jwksAllowPrivateIP: z.boolean().optional().describe('Allow a key set at a private address.'),
  protectedResourceAllowPrivateIP: z.boolean().default(false).describe('Allow a private address for introspection.'),
  groupsClaim: text(256)
    .optional()
    .describe('Claim (a name or dotted path) with the groups of a caller, in place of `groups` and `roles`.'),
};
const audience = {
  audience: Audience.optional(),
  scopes: Scopes.optional().describe('Scopes that every token must have.'),
};

const serviceAccounts = {
  issuer: IdentifierUrl.optional().describe(
    'Issuer of service account tokens. Absent: the cluster is asked; https://kubernetes.default.svc where it does not say.',
  ),
  jwksUrl: HttpUrl.optional().describe('Key set, with useClusterAuth: false.'),
  introspectionUrl: HttpUrl.optional().describe(
    'Refused, as it is never called; an issuer under inline has one, with clientSecretRef.',
  ),
  serviceAccount: ObjectName.optional().describe('Only this service account is let in.'),
  namespace: DnsLabel.optional().describe('Namespace of serviceAccount; default that of the resource.'),
  useClusterAuth: z.boolean().default(true).describe("The operator supplies the cluster's key set."),
};

const CLUSTER_HOST = '^https://kubernetes[.]default([.]svc([.]cluster[.]local)?)?(:443)?(/|$)';

/** The runtime's cluster token must not be sent to an address from a resource. */
const notIntrospected: Rule = {
  at: ['introspectionUrl'],
  message:
    'is never called for service accounts; remove it, or write the issuer under inline, with clientId, clientSecretRef and introspectionUrl',
  holds: (value) => valueAt(value, ['introspectionUrl']) === undefined,
  cel: '!has(self.introspectionUrl)',
};
const clusterRules = [needs(['namespace'], ['serviceAccount']), notIntrospected, ownKeySet(), writtenKeySet()] as const;

export const InlineOidc = withRules(z.strictObject({ ...issuer, ...audience }), ...inlineRules());
export type InlineOidc = z.infer<typeof InlineOidc>;
export const SharedOidc = withRules(z.strictObject(issuer), ...inlineRules());
export type SharedOidc = z.infer<typeof SharedOidc>;

export const KubernetesOidc = withRules(
  z.strictObject({
    audience: text(2048).default(KUBERNETES_AUDIENCE).describe('`aud` that a token must have.'),
    ...serviceAccounts,
  }),
  ...clusterRules,
);
export type KubernetesOidc = z.infer<typeof KubernetesOidc>;
export const SharedKubernetesOidc = withRules(z.strictObject(serviceAccounts), ...clusterRules);
export type SharedKubernetesOidc = z.infer<typeof SharedKubernetesOidc>;

export const ResourceUrl = IdentifierUrl.describe(
  'Externally reachable URL of the MCP endpoint, exactly as clients type it (RFC 9728).',
);

export const OidcConfig = oneBlockPerType(
  z.strictObject({
    type: z.enum(['inline', 'kubernetes', 'configMap']).describe('Source of the issuer settings.'),
    resourceUrl: ResourceUrl.optional(),
    inline: InlineOidc.optional().describe('An issuer, written here.'),
    kubernetes: KubernetesOidc.optional().describe('Service account tokens of the cluster.'),
    configMap: configMapKeyRef('oidc.json')
      .optional()
      .describe('A ConfigMap key that holds the inline block as YAML or JSON.'),
  }),
  {
    inline: { block: 'inline' },
    kubernetes: { block: 'kubernetes', optional: true },
    configMap: { block: 'configMap' },
  },
);
export type OidcConfig = z.infer<typeof OidcConfig>;

export const OidcConfigRef = z.strictObject({
  name: ObjectName.describe('Name of the MCPOIDCConfig.'),
  audience: z
    .string({ error: (issue) => (issue.input === undefined ? AUDIENCE_MISSING : undefined) })
    .min(1)
    .max(2048)
    .describe('`aud` that a token must have. A shared issuer serves several audiences, so it must be written.'),
  scopes: Scopes.optional().describe('Scopes that every token must have.'),
  resourceUrl: ResourceUrl.optional(),
});
export type OidcConfigRef = z.infer<typeof OidcConfigRef>;

const AUDIENCE_MISSING = 'required field is missing; with oidcConfigRef the audience must be written explicitly';
/** Returns a rule that allows http on loopback only, unless a switch is on. The URL's own schema reports its form. */
export function secureUrl(at: [string, ...string[]], ...switches: [string, ...string[]][]): Rule {
  const allowed = switches.map((path) => path.join('.')).join(' or ');
  const remedy = switches.length === 0 ? 'write an https URL' : `write an https URL, or set ${allowed} to true`;
  const open = switches.map((path) => ` || (${celHas(path)} && ${celPath(path)})`).join('');
  return {
    at,
    message: `http is allowed on loopback only; ${remedy}`,
    holds: (value) =>
      !HttpUrl.safeParse(valueAt(value, at)).success ||
      urlIsSecure.holds(valueAt(value, at)) ||
      switches.some((path) => valueAt(value, path) === true),
    cel: `${urlIsSecure.cel(at)}${open}`,
  };
}

/** The runtime calls neither URL over http outside of loopback, so all tokens would be rejected. */
function inlineRules(): Rule[] {
  return [
    needs(['clientSecretRef'], ['clientId']),
    needs(['introspectionUrl'], ['clientSecretRef']),
    secureUrl(['jwksUrl'], ['insecureAllowHTTP']),
    secureUrl(['introspectionUrl'], ['insecureAllowHTTP']),
  ];
}

/** The API server returns the discovery document of its own issuer only to its own tokens. */
function writtenKeySet(): Rule {
  return {
    at: ['useClusterAuth'],
    message:
      'false, so no key set is supplied; write jwksUrl, an issuer outside of the cluster, or useClusterAuth: true',
    holds: (value) => {
      const url = valueAt(value, ['issuer']);
      return (
        valueAt(value, ['useClusterAuth']) === true ||
        valueAt(value, ['jwksUrl']) !== undefined ||
        (typeof url === 'string' && !new RegExp(CLUSTER_HOST).test(url))
      );
    },
    cel: `self.useClusterAuth || has(self.jwksUrl) || (has(self.issuer) && !self.issuer.matches(${celString(CLUSTER_HOST)}))`,
  };
}

function ownKeySet(): Rule {
  return {
    at: ['jwksUrl'],
    message:
      "not the cluster's own key set, which useClusterAuth supplies; set useClusterAuth to false, or remove jwksUrl",
    holds: (value) => {
      const url = valueAt(value, ['jwksUrl']);
      return (
        typeof url !== 'string' || valueAt(value, ['useClusterAuth']) !== true || new RegExp(CLUSTER_HOST).test(url)
      );
    },
    cel: `!has(self.jwksUrl) || !self.useClusterAuth || self.jwksUrl.matches(${celString(CLUSTER_HOST)})`,
  };
}
