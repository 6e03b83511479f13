import { Stalled } from '../errors.ts';
import type { ClusterFacts } from '../snapshot.ts';

export interface HostAccess {
  field: string;
  what: 'hostPath' | 'privileged';
}

/** Verifies that the operator's administrator has allowed a pod's access to its node. @throws Stalled */
export function checkHostAccess(name: string, access: HostAccess[], { allowHostPaths }: ClusterFacts): void {
  const [first] = access;
  if (allowHostPaths || !first) return;
  const where = access.map(({ field }) => field).join(', ');
  const thing = first.what === 'hostPath' ? 'folders of the node' : 'privileged containers';
  const message = `MCPServer "${name}": ${where}: ${thing} are not allowed here: remove it; only the administrator of the operator can allow it`;
  throw new Stalled('HostPathNotAllowed', message);
}
