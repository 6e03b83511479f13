import type { MCPExternalAuthConfig } from '#crds/kinds/index';
import type { Condition } from '#crds/parts/conditions';

export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** The way in which a backend is authenticated to, as its status names it. */
export type AuthType = MCPExternalAuthConfig['spec']['type'] | 'remoteAuth';

/** A planned backend: in the document, left out with a reason, or stopped by its own resource. */
export type BackendFinding =
  | { name: string; url: string; authType: AuthType }
  | { name: string; excluded: { reason: string; message: string } }
  | { name: string; suspended: true };
