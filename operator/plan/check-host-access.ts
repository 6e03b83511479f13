import { Stalled } from '../errors.ts';
import type { ClusterFacts } from '../world.ts';

/** What leads out of a pod. */
export interface HostAccess {
  /** Where it is written, for the message. */
  field: string;
  what: 'hostPath' | 'privileged';
}

/** A way out of the pod to its node: the administrator of the operator must have allowed it. Throws `Stalled`. */
export function checkHostAccess(name: string, access: HostAccess[], { allowHostPaths }: ClusterFacts): void {
  const [first] = access;
  if (allowHostPaths || !first) return;
  const where = access.map(({ field }) => field).join(', ');
  const thing = first.what === 'hostPath' ? 'folders of the node' : 'privileged containers';
  const message = `MCPServer "${name}": ${where}: ${thing} are not allowed here: remove it; only the administrator of the operator can allow it`;
  throw new Stalled('HostPathNotAllowed', message);
}
