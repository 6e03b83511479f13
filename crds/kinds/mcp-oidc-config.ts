import { z } from 'zod';
import { backReferences, Phase, statusFields } from '../parts/conditions.ts';
import { secureUrl, SharedKubernetesOidc, SharedOidc } from '../parts/oidc-config.ts';
import { oneBlockPerType } from '../parts/one-block-per-type.ts';
import { withRules } from '../parts/rule.ts';
import { resource } from './resource.ts';

export const MCPOIDCConfigSpec = withRules(
  oneBlockPerType(
    z.strictObject({
      type: z.enum(['kubernetesServiceAccount', 'inline']).describe('Kind of issuer.'),
      kubernetesServiceAccount: SharedKubernetesOidc.optional().describe('Service account tokens of the cluster.'),
      inline: SharedOidc.optional().describe('Any other issuer.'),
    }),
    {
      kubernetesServiceAccount: { block: 'kubernetesServiceAccount', optional: true },
      inline: { block: 'inline' },
    },
  ),
  secureUrl(['inline', 'issuer'], ['inline', 'insecureAllowHTTP']),
);

const Status = z.object({
  phase: Phase.optional().describe('Pending, Ready, Degraded or Failed.'),
  ...backReferences,
  ...statusFields,
});

export const MCPOIDCConfig = resource('MCPOIDCConfig', MCPOIDCConfigSpec, Status);
export type MCPOIDCConfig = z.infer<typeof MCPOIDCConfig>;
