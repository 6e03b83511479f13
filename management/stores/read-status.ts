import { Status } from '#crds/kinds/status';

/** A status as the operator writes it; undefined before it wrote one, and for one of another version of it. */
export function readStatus(status: unknown): Status | undefined {
  return Status.safeParse(status).data;
}
