import { Status } from '#crds/kinds/status';

/** Returns undefined before the operator's first write, and for another version of the format. */
export function readStatus(status: unknown): Status | undefined {
  return Status.safeParse(status).data;
}
