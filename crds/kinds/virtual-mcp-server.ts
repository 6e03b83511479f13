import { z } from 'zod';
import { AggregationConfig } from '../parts/aggregation.ts';
import { AuditConfig } from '../parts/audit.ts';
import { AuthServerConfig } from '../parts/auth-server-config.ts';
import { BackendStatus, Phase, statusFields } from '../parts/conditions.ts';
import { mapOf } from '../parts/collections.ts';
import { IncomingAuth, resourceUrlOf } from '../parts/incoming-auth.ts';
import { secureUrl } from '../parts/oidc-config.ts';
import { LimitsConfig, OperationalConfig } from '../parts/operational.ts';
import { OutgoingAuth } from '../parts/outgoing-auth.ts';
import { Autoscaling, PodDisruptionBudget, PodTemplateSpec, Replicas, Resources } from '../parts/pod.ts';
import { Cidr, HeaderName, Port } from '../parts/primitives.ts';
import { RateLimitingConfig } from '../parts/rate-limiting.ts';
import { named, nameOf } from '../parts/references.ts';
import { notBoth, type Rule, withRules } from '../parts/rule.ts';
import { SessionStorage } from '../parts/storage.ts';
import { Telemetry } from '../parts/telemetry.ts';
import { resource } from './resource.ts';

/** Accepted at two paths: under spec, and under config. */
const atTwoPaths = {
  audit: AuditConfig.optional().describe('Audit events.'),
  telemetry: Telemetry.optional().describe('Traces and metrics.'),
  sessionStorage: SessionStorage.optional().describe('Storage of sessions.'),
};

const Config = z.strictObject({
  groupRef: nameOf('MCPGroup').describe('Name of the MCPGroup whose backends are aggregated.'),
  aggregation: AggregationConfig.optional().describe('Rules that merge the lists of all backends.'),
  operational: OperationalConfig.optional().describe('Deadlines, health and load of the backends.'),
  ...atTwoPaths,
});

const pods = {
  replicas: Replicas.optional().describe('Pods; default 1. Not with autoscaling.'),
  autoscaling: Autoscaling.optional().describe('Scale by CPU use.'),
  listen: z
    .strictObject({
      port: Port.optional().describe(
        'Port of the endpoint; default that of a loopback resourceUrl, else a free one from 4483.',
      ),
    })
    .optional()
    .describe('Address and port of the endpoint on one machine; without effect in a cluster.'),
  serviceType: z
    .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
    .default('ClusterIP')
    .describe('Type of the Service of the public port.'),
  sessionAffinity: z
    .enum(['None', 'ClientIP'])
    .optional()
    .describe('Session affinity of the Service; of use only with backends of transport sse.'),
  serviceAccount: nameOf('ServiceAccount').optional().describe('Service account of the pods; it needs no permission.'),
  resources: Resources.optional().describe('Requests and limits of the container.'),
  podTemplateSpec: PodTemplateSpec.optional().describe(
    'Merged over the rendered pod template; the container is `vmcp`.',
  ),
  imagePullSecrets: z.array(named('Secret')).max(16).optional().describe('Secrets for pulling images.'),
  networkPolicy: z
    .strictObject({ enabled: z.boolean().default(true).describe('Make NetworkPolicies.') })
    .optional()
    .describe('Network policies for the private port and the backends.'),
  podDisruptionBudget: PodDisruptionBudget.optional().describe(
    'Pods that may be missing while nodes are drained; default maxUnavailable 1, from two replicas.',
  ),
};

const Fields = z.strictObject({
  config: Config.describe('Group to aggregate, and settings of the aggregation.'),
  incomingAuth: IncomingAuth.describe('Boundary 1: from the client to the endpoint.'),
  outgoingAuth: OutgoingAuth.prefault({}).describe('Boundary 2: from the endpoint to each backend.'),
  authServerConfig: AuthServerConfig.optional().describe('The embedded authorization server.'),
  ...atTwoPaths,
  limits: LimitsConfig.optional().describe('Bounds.'),
  rateLimiting: RateLimitingConfig.optional().describe('Rate limits.'),
  passthroughHeaders: z
    .array(HeaderName)
    .max(64)
    .optional()
    .describe("Request headers that go on to the backends. Never the caller's Authorization."),
  trustedProxies: z.array(Cidr).max(100).optional().describe('Address ranges whose forwarding headers count.'),
  tls: z
    .strictObject({ secretRef: named('Secret').describe('Secret of type kubernetes.io/tls.') })
    .optional()
    .describe('TLS of the public port.'),
  ...pods,
});
type Fields = z.infer<typeof Fields>;

const INLINE_ISSUER = 'has(self.incomingAuth.oidcConfig) && has(self.incomingAuth.oidcConfig.inline)';

const needsOidc: Rule<Fields> = {
  at: ['incomingAuth', 'type'],
  message:
    'authServerConfig issues tokens that nobody would check; write type: oidc with the same issuer (inline, configMap or oidcConfigRef), or remove authServerConfig',
  holds: ({ authServerConfig, incomingAuth }) =>
    authServerConfig === undefined || (incomingAuth.type === 'oidc' && incomingAuth.oidcConfig?.type !== 'kubernetes'),
  cel: "!has(self.authServerConfig) || (self.incomingAuth.type == 'oidc' && (!has(self.incomingAuth.oidcConfig) || self.incomingAuth.oidcConfig.type != 'kubernetes'))",
};

const sameIssuer: Rule<Fields> = {
  at: ['incomingAuth', 'oidcConfig', 'inline', 'issuer'],
  message: 'differs from authServerConfig.issuer; write the same text at both places, byte for byte',
  holds: ({ authServerConfig, incomingAuth }) => {
    const issuer = incomingAuth.oidcConfig?.inline?.issuer;
    return authServerConfig === undefined || issuer === undefined || issuer === authServerConfig.issuer;
  },
  cel: `!has(self.authServerConfig) || !(${INLINE_ISSUER}) || self.incomingAuth.oidcConfig.inline.issuer == self.authServerConfig.issuer`,
};

/** The embedded server issues tokens for the endpoint only (RFC 8707), so with another audience all tokens would be rejected. */
const audienceIsEndpoint: Rule<Fields> = {
  at: ['incomingAuth', 'oidcConfig', 'inline', 'audience'],
  message:
    'differs from resourceUrl, which is the audience of what authServerConfig issues; write the same URL, or remove audience',
  holds: ({ authServerConfig, incomingAuth }) => {
    const audience = incomingAuth.oidcConfig?.inline?.audience;
    const url = resourceUrlOf(incomingAuth);
    return authServerConfig === undefined || audience === undefined || url === undefined || audience === url;
  },
  cel:
    `!has(self.authServerConfig) || !(${INLINE_ISSUER}) || !has(self.incomingAuth.oidcConfig.inline.audience) || ` +
    '((!has(self.incomingAuth.resourceUrl) || self.incomingAuth.resourceUrl == self.incomingAuth.oidcConfig.inline.audience) && ' +
    '(!has(self.incomingAuth.oidcConfig.resourceUrl) || self.incomingAuth.oidcConfig.resourceUrl == self.incomingAuth.oidcConfig.inline.audience))',
};

export const VirtualMCPServerSpec = withRules(
  Fields,
  notBoth(['audit'], ['config', 'audit']),
  notBoth(['telemetry'], ['config', 'telemetry']),
  notBoth(['sessionStorage'], ['config', 'sessionStorage']),
  notBoth(['autoscaling'], ['replicas'], 'remove replicas: the autoscaler sets them'),
  needsOidc,
  sameIssuer,
  audienceIsEndpoint,
  secureUrl(
    ['incomingAuth', 'oidcConfig', 'inline', 'issuer'],
    ['incomingAuth', 'oidcConfig', 'inline', 'insecureAllowHTTP'],
    ['authServerConfig', 'insecureAllowHTTP'],
  ),
);

export const VirtualMCPServerStatus = z.object({
  phase: Phase.optional().describe('Pending, Ready, Degraded or Failed.'),
  url: z.string().max(2048).optional().describe('URL of the endpoint.'),
  backends: z.array(BackendStatus).max(1000).optional().describe('State of each backend.'),
  backendCount: z.int().min(0).optional().describe('Number of backends.'),
  toolCount: z.int().min(0).optional().describe('Number of tools.'),
  redirectUris: mapOf(z.string().max(63), z.string().max(2048), 32)
    .optional()
    .describe('Provider name to the redirect URI that has to be registered there.'),
  replicas: z.int().min(0).optional().describe('Pods that there are.'),
  selector: z.string().max(1024).optional().describe('Label selector of the pods.'),
  ...statusFields,
});

export const VirtualMCPServer = resource('VirtualMCPServer', VirtualMCPServerSpec, VirtualMCPServerStatus);
export type VirtualMCPServer = z.infer<typeof VirtualMCPServer>;

/** Adds `incomingAuth.type: anonymous` if it is absent, as local endpoints listen on loopback only. A cluster refuses such a spec. */
export function specForOneMachine(spec: unknown): unknown {
  const isWithout = typeof spec === 'object' && spec !== null && !('incomingAuth' in spec);
  return isWithout ? { ...spec, incomingAuth: { type: 'anonymous' } } : spec;
}
