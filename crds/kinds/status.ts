import { z } from 'zod';
import { BackendStatus, Condition, Phase } from '../parts/conditions.ts';
import { MCPGroupStatus } from './mcp-group.ts';
import { MCPServerStatus } from './mcp-server.ts';
import { VirtualMCPServerStatus } from './virtual-mcp-server.ts';

/** Excluded: left out of the document until a user fixes a fault. Suspended: left out because a user requested it. */
const BackendPhase = z.enum(['Ready', 'Degraded', 'Unavailable', 'Unknown', 'Excluded', 'Suspended']);
export type BackendPhase = z.infer<typeof BackendPhase>;

/** The status of a backend from the operator. An excluded backend lacks URL and authentication type. */
export const BackendSummary = BackendStatus.extend({
  phase: BackendPhase,
  message: BackendStatus.shape.message.unwrap(),
  lastTransitionTime: BackendStatus.shape.lastTransitionTime.unwrap(),
});
export type BackendSummary = z.infer<typeof BackendSummary>;

/** The operator's status of a VirtualMCPServer, and the parts that other kinds share. */
export const Status = z.object({
  ...MCPGroupStatus.shape,
  ...MCPServerStatus.shape,
  ...VirtualMCPServerStatus.shape,
  phase: Phase,
  conditions: z.array(Condition),
  backends: z.array(BackendSummary).optional(),
});
export type Status = z.infer<typeof Status>;

/** Returns undefined before the operator's first write, and for another version of the format. */
export function readStatus(status: unknown): Status | undefined {
  return Status.safeParse(status).data;
}
