import type { Condition } from '#crds/parts/conditions';

export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A planned backend: in the document, left out with a reason, or stopped by its own resource. */
export type BackendFinding =
  | { name: string; url: string; authType: string }
  | { name: string; excluded: { reason: string; message: string } }
  | { name: string; suspended: true };
