import type { KubeApi } from '../api/api.ts';
import type { ApplyContext } from '../apply/apply-child.ts';
import { OwnedChildren } from '../watch/owned-children.ts';

/** Returns the context of an operator that has just started, without cached state. */
export const freshContext = (api: KubeApi): ApplyContext => ({
  api,
  children: new OwnedChildren(),
  apiGroup: 'vmcp.dev',
  settled: new Map(),
  taken: new Set(),
});
