import type { Condition } from '#crds/parts/conditions';

/** A condition before it is known since when it holds. */
export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A backend as the plan sees it: in the document, left out with a reason, or stopped by its own resource. */
export type BackendFinding =
  | { name: string; url: string; authType: string }
  | { name: string; excluded: { reason: string; message: string } }
  | { name: string; suspended: true };
