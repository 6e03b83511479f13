import { Status } from '#crds/kinds/status';

/** Returns the status that the operator wrote; undefined before the first write, and for another version of the format. */
export function readStatus(status: unknown): Status | undefined {
  return Status.safeParse(status).data;
}
