import { z } from 'zod';
import { BackendStatus, backReferences, Phase, statusFields } from '../parts/conditions.ts';
import { ToolsFilter, ToolsOverride } from '../parts/aggregation.ts';
import { AuditConfig } from '../parts/audit.ts';
import { AuthzConfig } from '../parts/authz-config.ts';
import { mapOf } from '../parts/collections.ts';
import { OidcConfig, OidcConfigRef, secureUrl } from '../parts/oidc-config.ts';
import { PodTemplateSpec, Replicas, Resources } from '../parts/pod.ts';
import { Cidr, HttpUrl, Port } from '../parts/primitives.ts';
import { RateLimitingConfig } from '../parts/rate-limiting.ts';
import { CaBundleRef, named, nameOf } from '../parts/references.ts';
import { needs, notBoth, type Rule, withRules } from '../parts/rule.ts';
import { SessionStorage } from '../parts/storage.ts';
import { Telemetry } from '../parts/telemetry.ts';
import {
  EnvFileFolder,
  EnvSecrets,
  EnvVars,
  HeaderForward,
  Image,
  PermissionProfile,
  PublishedPorts,
  RemoteAuth,
  ResourceOverrides,
  Volumes,
  Webhooks,
} from '../parts/workload.ts';
import { resource } from './resource.ts';

const what = {
  image: Image.optional().describe('Container image. In local mode it is not used beside command.'),
  command: z
    .array(z.string().max(4096))
    .min(1)
    .max(256)
    .optional()
    .describe("Program to start, with its arguments; overrides the image's entry point."),
  args: z.array(z.string().max(4096)).max(256).optional().describe('Arguments of the program.'),
  remoteUrl: HttpUrl.optional().describe('MCP server that runs elsewhere; excludes image and command.'),
  groupRef: nameOf('MCPGroup').optional().describe('Name of the MCPGroup it belongs to.'),
  transport: z
    .enum(['stdio', 'sse', 'streamable-http'])
    .optional()
    .describe('Transport of the server; default stdio with command, else streamable-http.'),
  stdioProcess: z
    .enum(['shared', 'perSession'])
    .default('shared')
    .describe('One process for all sessions or one for each; perSession in local mode only.'),
  mcpPort: Port.optional().describe('Port that the program listens on; in a cluster default 8080.'),
  path: z
    .string()
    .max(1024)
    .regex(/^\/[^\s?#]*$/, 'not a path; write it from /, without query')
    .optional()
    .describe('Path of its MCP endpoint; default /mcp, with transport sse /sse.'),
  env: EnvVars.optional().describe('Environment variables of the program.'),
  secrets: EnvSecrets.optional().describe('Environment variables whose values are Secret keys.'),
  volumes: Volumes.optional().describe('Folders of the machine that the program sees.'),
  permissionProfile: PermissionProfile.optional().describe(
    'Hosts that the server may reach, and folders that it may read and write.',
  ),
  suspend: z.boolean().optional().describe('Stop it, and keep everything else; without, it runs.'),
};

/** Only a container engine on one machine uses these fields; they are stored everywhere. */
const engine = {
  publish: PublishedPorts.optional().describe(
    'More ports of its container on this machine; without an address on 127.0.0.1 alone.',
  ),
  allowDockerGateway: z.boolean().optional().describe('Its container knows the machine as host.docker.internal.'),
  envFileDir: EnvFileFolder.optional().describe('Folder of this machine with files of variables for its container.'),
};

const offer = {
  toolsFilter: ToolsFilter.optional().describe('Only these tools, by original name.'),
  toolsOverride: ToolsOverride.optional().describe('Original tool name to what replaces its own texts.'),
  headerForward: HeaderForward.optional().describe('Headers that are added to requests to it.'),
  externalAuthConfigRef: named('MCPExternalAuthConfig').optional().describe('Outgoing authentication.'),
  caBundleRef: CaBundleRef.optional(),
  remoteAuth: RemoteAuth.optional().describe('vmcp as OAuth client of remoteUrl.'),
  webhooks: Webhooks.optional().describe('Webhooks that are asked before calls.'),
  authzConfig: AuthzConfig.optional(),
  rateLimiting: RateLimitingConfig.optional().describe('Rate limits.'),
};

const byItself = {
  oidcConfig: OidcConfig.optional().describe('The issuer whose tokens are let in, when it is used by itself.'),
  oidcConfigRef: OidcConfigRef.optional().describe('The same, shared by a MCPOIDCConfig.'),
  proxyPort: Port.optional().describe('Port of its own endpoint; default 4483, on one machine a free one from there.'),
  proxyMode: z
    .enum(['streamable-http', 'sse'])
    .optional()
    .describe(
      'Transport of its own endpoint; default streamable-http. The value sse adds the older HTTP+SSE transport at /sse.',
    ),
  endpointPrefix: z
    .string()
    .max(1024)
    .regex(/^\/[^\s?#]*$/, 'not a path; write it from /, without query')
    .optional()
    .describe('Path prefix of its own endpoint, as a proxy in front of it sees it.'),
  trustProxyHeaders: z.boolean().default(false).describe('Forwarding headers of trustedProxies count.'),
  trustedProxies: z.array(Cidr).max(100).optional().describe('Address ranges whose forwarding headers count.'),
  sessionAffinity: z
    .enum(['None', 'ClientIP'])
    .optional()
    .describe('Session affinity of the Service; of use only with backends of transport sse.'),
  sessionStorage: SessionStorage.optional().describe('Storage of the sessions of its own endpoint.'),
  audit: AuditConfig.optional().describe('Audit events of its own endpoint.'),
  telemetry: Telemetry.optional().describe('Traces and metrics of its own endpoint.'),
  debug: z.boolean().optional().describe('Its own endpoint logs what it does in detail.'),
};

const pods = {
  replicas: Replicas.optional().describe('Pods of its own endpoint; default 1.'),
  backendReplicas: Replicas.optional().describe('Pods of the program; default 1.'),
  serviceAccount: nameOf('ServiceAccount').optional().describe('Service account of the program.'),
  automountServiceAccountToken: z
    .boolean()
    .optional()
    .describe('Mount a token of serviceAccount into the pods of the program; default false.'),
  resources: Resources.optional().describe('Requests and limits of the program.'),
  podTemplateSpec: PodTemplateSpec.optional().describe(
    'Merged over the rendered pod template; the container is `mcp`.',
  ),
  resourceOverrides: ResourceOverrides.optional().describe('Labels, annotations and variables of what is rendered.'),
};

const Fields = z.strictObject({ ...what, ...engine, ...offer, ...byItself, ...pods });
type Fields = z.infer<typeof Fields>;

export function transportOf(spec: Pick<Fields, 'transport' | 'command'>): 'stdio' | 'sse' | 'streamable-http' {
  return spec.transport ?? (spec.command === undefined ? 'streamable-http' : 'stdio');
}

const STDIO = "(has(self.transport) ? self.transport == 'stdio' : has(self.command))";

const hasSource: Rule<Fields> = {
  at: [],
  message: 'needs something to run or to reach; write at least one of image, remoteUrl and command',
  holds: ({ image, remoteUrl, command }) => [image, remoteUrl, command].some((source) => source !== undefined),
  cel: 'has(self.image) || has(self.remoteUrl) || has(self.command)',
};

const remoteIsHttp: Rule<Fields> = {
  at: ['transport'],
  message: 'stdio cannot be spoken to a remoteUrl; write streamable-http or sse',
  holds: ({ remoteUrl, transport }) => remoteUrl === undefined || transport !== 'stdio',
  cel: "!has(self.remoteUrl) || !has(self.transport) || self.transport != 'stdio'",
};

const perSessionIsStdio: Rule<Fields> = {
  at: ['stdioProcess'],
  message: 'perSession is for transport stdio; write transport: stdio, or remove stdioProcess',
  holds: (spec) => spec.stdioProcess === 'shared' || transportOf(spec) === 'stdio',
  cel: `self.stdioProcess == 'shared' || ${STDIO}`,
};

const oneStdioPod: Rule<Fields> = {
  at: ['backendReplicas'],
  message: 'a program on stdio has one pod; write 0 or 1, or another transport',
  holds: (spec) => (spec.backendReplicas ?? 1) <= 1 || transportOf(spec) !== 'stdio',
  cel: `!has(self.backendReplicas) || self.backendReplicas <= 1 || !${STDIO}`,
};

const headersNeedHttp: Rule<Fields> = {
  at: ['headerForward'],
  message: 'transport stdio has no headers; write the values as env or secrets, or another transport',
  holds: (spec) => spec.headerForward === undefined || transportOf(spec) !== 'stdio',
  cel: `!has(self.headerForward) || !${STDIO}`,
};

export const MCPServerSpec = withRules(
  Fields,
  hasSource,
  notBoth(['remoteUrl'], ['image']),
  notBoth(['remoteUrl'], ['command']),
  needs(['remoteAuth'], ['remoteUrl']),
  needs(['automountServiceAccountToken'], ['serviceAccount']),
  notBoth(['remoteAuth'], ['externalAuthConfigRef']),
  notBoth(['oidcConfig'], ['oidcConfigRef']),
  secureUrl(['oidcConfig', 'inline', 'issuer'], ['oidcConfig', 'inline', 'insecureAllowHTTP']),
  remoteIsHttp,
  perSessionIsStdio,
  oneStdioPod,
  headersNeedHttp,
);

export const MCPServerStatus = z.object({
  phase: Phase.optional().describe('Pending, Ready, Degraded or Failed.'),
  url: z.string().max(2048).optional().describe('URL.'),
  transport: z.string().max(32).optional().describe('Transport.'),
  toolCount: z
    .int()
    .min(0)
    .optional()
    .describe(
      'Number of tools at its own endpoint. For a member of a group, see status.backends of the VirtualMCPServer.',
    ),
  backends: z
    .array(BackendStatus)
    .max(1)
    .optional()
    .describe('State of what it runs or reaches, as its own endpoint sees it.'),
  redirectUris: mapOf(z.string().max(63), z.string().max(2048), 1)
    .optional()
    .describe('Provider name to the redirect URI that has to be registered there.'),
  replicas: z.int().min(0).optional().describe('Pods that there are.'),
  restartedAt: z
    .string()
    .max(256)
    .optional()
    .describe('Value of the annotation restarted-at that has been carried out: all that runs is new since.'),
  ...backReferences,
  ...statusFields,
});

export const MCPServer = resource('MCPServer', MCPServerSpec, MCPServerStatus);
export type MCPServer = z.infer<typeof MCPServer>;
