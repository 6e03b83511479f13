import { z } from 'zod';
import { EmbeddedAuthServer } from '../parts/auth-server-config.ts';
import { backReferences, Phase, statusFields } from '../parts/conditions.ts';
import { AwsSts, ClientCredentials, TokenExchange, Xaa } from '../parts/backend-credentials.ts';
import { oneBlockPerType } from '../parts/one-block-per-type.ts';
import { DnsLabel, AddedHeaderName, HostPattern, ObjectName } from '../parts/primitives.ts';
import { SecretKeyRef } from '../parts/references.ts';
import { resource } from './resource.ts';

const Types = z.strictObject({
  type: z
    .enum([
      'upstreamInject',
      'tokenExchange',
      'xaa',
      'clientCredentials',
      'headerInjection',
      'bearerToken',
      'unauthenticated',
      'awsSts',
      'embeddedAuthServer',
    ])
    .describe('Method that authenticates requests to the backend.'),
  upstreamInject: z
    .strictObject({ providerName: DnsLabel.describe('Name of an entry of authServerConfig.upstreamProviders.') })
    .optional()
    .describe("The caller's stored token of an upstream provider becomes Authorization."),
  tokenExchange: TokenExchange.optional().describe('A token is exchanged for one of the backend (RFC 8693).'),
  xaa: Xaa.optional().describe(
    'Enterprise-managed authorization: the identity provider vouches for the caller at the backend.',
  ),
  clientCredentials: ClientCredentials.optional().describe("A token of vmcp's own client, the same for all callers."),
  headerInjection: z
    .strictObject({
      headerName: AddedHeaderName.describe('Name of the header.'),
      valueSecretRef: SecretKeyRef.describe('Its value.'),
    })
    .optional()
    .describe('A fixed header.'),
  bearerToken: z
    .strictObject({ tokenSecretRef: SecretKeyRef.describe('The token.') })
    .optional()
    .describe('A fixed bearer token.'),
  awsSts: AwsSts.optional().describe('Credentials of AWS STS sign the request.'),
  embeddedAuthServer: EmbeddedAuthServer.optional().describe(
    'An authorization server for one MCPServer by itself, with one provider.',
  ),
  allowedHosts: z
    .array(HostPattern)
    .max(100)
    .optional()
    .describe('Hosts that may receive these credentials: host[:port] or *.suffix. Absent: all.'),
  allowedServers: z
    .array(ObjectName)
    .max(500)
    .optional()
    .describe('MCPServers that may use this. Absent: all of the namespace.'),
});

export const MCPExternalAuthConfigSpec = oneBlockPerType(Types, {
  upstreamInject: { block: 'upstreamInject' },
  tokenExchange: { block: 'tokenExchange' },
  xaa: { block: 'xaa' },
  clientCredentials: { block: 'clientCredentials' },
  headerInjection: { block: 'headerInjection' },
  bearerToken: { block: 'bearerToken' },
  unauthenticated: 'none',
  awsSts: { block: 'awsSts' },
  embeddedAuthServer: { block: 'embeddedAuthServer' },
});

const Status = z.object({
  phase: Phase.optional().describe('Pending, Ready, Degraded or Failed.'),
  ...backReferences,
  ...statusFields,
});

export const MCPExternalAuthConfig = resource('MCPExternalAuthConfig', MCPExternalAuthConfigSpec, Status);
export type MCPExternalAuthConfig = z.infer<typeof MCPExternalAuthConfig>;
