import { z } from 'zod';
import { BackendStatus } from '../parts/backend-status.ts';
import { Condition, Phase } from '../parts/conditions.ts';
import { MCPGroupStatus } from './mcp-group.ts';
import { MCPServerStatus } from './mcp-server.ts';
import { VirtualMCPServerStatus } from './virtual-mcp-server.ts';

/** Excluded: left out of the document until a person mends something. Suspended: left out because a person said so. */
const BackendPhase = z.enum(['Ready', 'Degraded', 'Unavailable', 'Unknown', 'Excluded', 'Suspended']);
export type BackendPhase = z.infer<typeof BackendPhase>;

/** A backend as the operator describes it. Without URL and type of authentication: it is left out. */
export const BackendSummary = BackendStatus.extend({
  phase: BackendPhase,
  message: BackendStatus.shape.message.unwrap(),
  lastTransitionTime: BackendStatus.shape.lastTransitionTime.unwrap(),
});
export type BackendSummary = z.infer<typeof BackendSummary>;

/** A status as the operator writes it: of a VirtualMCPServer, or what another kind has of it. */
export const Status = z.object({
  ...MCPGroupStatus.shape,
  ...MCPServerStatus.shape,
  ...VirtualMCPServerStatus.shape,
  phase: Phase,
  conditions: z.array(Condition),
  backends: z.array(BackendSummary).optional(),
});
export type Status = z.infer<typeof Status>;
