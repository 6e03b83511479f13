import { z } from 'zod';

/** metav1.Condition. The message has the remedy. */
export const Condition = z.object({
  type: z.string().max(316).describe('What the condition is about, CamelCase.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  observedGeneration: z.int().min(0).optional().describe('Generation of the resource that was looked at.'),
  lastTransitionTime: z.string().max(64).describe('When status changed last, RFC 3339.'),
  reason: z.string().max(1024).describe('Why, one CamelCase word.'),
  message: z.string().max(32_768).describe('What is so, and what to do.'),
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
    .describe('What is the case, and what to do.'),
};

/** The resources that refer to this one: 100 names at most, and their number. */
export const backReferences = {
  referencedBy: z
    .array(z.object({ kind: z.string().max(63).describe('Kind.'), name: z.string().max(253).describe('Name.') }))
    .max(100)
    .optional()
    .describe('Resources that refer to this one, at most 100.'),
  referenceCount: z.int().min(0).optional().describe('How many resources refer to this one.'),
};

export const BackendStatus = z.object({
  name: z.string().max(253).describe('Name of the MCPServer.'),
  url: z.string().max(2048).optional().describe('Where it is reached.'),
  phase: z.string().max(64).describe('State of the backend.'),
  tools: z.int().min(0).optional().describe('How many tools it has; absent until somebody listed them.'),
  authType: z.string().max(64).optional().describe('How it is authenticated at.'),
  message: z.string().max(4096).optional().describe('What is wrong, and what to do.'),
  loginUrl: z.string().max(2048).optional().describe('Where a person who runs this has to log in for it.'),
  lastTransitionTime: z.string().max(64).optional().describe('When phase changed last, RFC 3339.'),
});
