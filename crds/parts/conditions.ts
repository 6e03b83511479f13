import { z } from 'zod';

/** metav1.Condition. The message has the remedy. */
export const Condition = z.object({
  type: z.string().max(316).describe('Type of the condition, CamelCase.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition.'),
  observedGeneration: z.int().min(0).optional().describe('Generation of the resource that was looked at.'),
  lastTransitionTime: z.string().max(64).describe('When status changed last, RFC 3339.'),
  reason: z.string().max(1024).describe('Why, one CamelCase word.'),
  message: z.string().max(32_768).describe('Explanation and remedy.'),
});
export type Condition = z.infer<typeof Condition>;

const PHASES = ['Pending', 'Ready', 'Degraded', 'Failed'] as const;
export const Phase = z.enum(PHASES);
export type Phase = z.infer<typeof Phase>;

export const statusFields = {
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe('Generation of the active spec or, with condition Stalled, of the rejected spec.'),
  conditions: z
    .array(Condition)
    .max(32)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .describe('Conditions of the resource, each with a remedy.'),
};

/** The resources that refer to this one: 100 names at most, and their number. */
export const backReferences = {
  referencedBy: z
    .array(z.object({ kind: z.string().max(63).describe('Kind.'), name: z.string().max(253).describe('Name.') }))
    .max(100)
    .optional()
    .describe('Resources that refer to this one, at most 100.'),
  referenceCount: z.int().min(0).optional().describe('Number of resources that refer to this one.'),
};

export const BackendStatus = z.object({
  name: z.string().max(253).describe('Name of the MCPServer.'),
  url: z.string().max(2048).optional().describe('URL.'),
  phase: z.string().max(64).describe('State of the backend.'),
  tools: z.int().min(0).optional().describe('Number of tools; absent until a caller has listed them.'),
  authType: z.string().max(64).optional().describe('Outgoing authentication.'),
  message: z.string().max(4096).optional().describe('Problem and remedy.'),
  extensions: z
    .array(z.string().max(63))
    .max(8)
    .optional()
    .describe('Extensions of MCP that it offers: `tasks`, `apps`.'),
  loginUrl: z.string().max(2048).optional().describe('URL at which the operator of this server has to log in.'),
  lastTransitionTime: z.string().max(64).optional().describe('When phase changed last, RFC 3339.'),
});
