import { z } from 'zod';
import { backReferences, Phase, statusFields } from '../parts/conditions.ts';
import { resource } from './resource.ts';

export const MCPGroupSpec = z.strictObject({
  description: z.string().max(4096).optional().describe('Purpose of the group.'),
});

export const MCPGroupStatus = z.object({
  phase: Phase.optional().describe('Pending, Ready, Degraded or Failed.'),
  servers: z.array(z.string().max(253)).max(100).optional().describe('MCPServers of the group, at most 100.'),
  serverCount: z.int().min(0).optional().describe('Number of MCPServers in the group.'),
  ...backReferences,
  ...statusFields,
});

export const MCPGroup = resource('MCPGroup', MCPGroupSpec.prefault({}), MCPGroupStatus);
export type MCPGroup = z.infer<typeof MCPGroup>;
