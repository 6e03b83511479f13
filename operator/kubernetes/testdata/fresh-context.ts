import type { KubeApi } from '../api/api.ts';
import type { ApplyContext } from '../apply/apply-child.ts';
import { OwnedChildren } from '../watch/owned-children.ts';

/** Of an operator that was started a moment ago, and knows nothing but what is there. */
export const freshContext = (api: KubeApi): ApplyContext => ({
  api,
  children: new OwnedChildren(),
  apiGroup: 'vmcp.dev',
  settled: new Map(),
  taken: new Set(),
});
