import { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { Resource } from '#operator/kubernetes/api/object';
import type { Touch } from '../operation.ts';
import { Problem } from '../problem.ts';
import { review } from './review.ts';
import type { User } from './review-token.ts';

const ACCESS_REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  namespaced: false,
};

const Reviewed = z.object({ status: z.object({ allowed: z.boolean(), denied: z.boolean().optional() }) });

interface AccessPlace {
  api: KubeApi;
  apiGroup: string;
  namespace: string;
}

/** @throws Problem `forbidden`; `unavailable` if the API server gives no decision */
export async function reviewAccess(user: User, touch: Touch, { api, apiGroup, namespace }: AccessPlace): Promise<void> {
  // An empty namespace would mean all namespaces.
  if (namespace === '') throw new Error(`${touch.resource} are touched outside of a namespace`);
  const { verb, resource, group = apiGroup, name } = touch;
  const [plural, subresource] = resource.split('/');
  const resourceAttributes = {
    namespace,
    verb,
    group,
    resource: plural,
    ...(subresource !== undefined && { subresource }),
    ...(name !== undefined && { name }),
  };
  const { username, ...rest } = user;
  const { status } = await review(
    api,
    ACCESS_REVIEWS,
    { kind: 'SubjectAccessReview', spec: { user: username, ...rest, resourceAttributes } },
    Reviewed,
  );
  if (status.allowed && status.denied !== true) return;
  const what = `${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` "${name}"`}`;
  throw new Problem('forbidden', `${username} may not ${verb} ${what} in namespace ${namespace}`);
}
