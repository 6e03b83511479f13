import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { DnsLabel } from '#crds/parts/primitives';
import type { Resource } from '#operator/kubernetes/api/object';
import { checkOrigin } from '../check-origin.ts';
import type { Permission } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { Authenticator } from '../serving.ts';
import { notValid, review, reviewToken, type User } from './review-token.ts';

interface ClusterAuthenticatorOptions {
  /** Separate connections, so that callers of the API cannot delay other work. */
  api: KubeApi;
  apiGroup: string;
  /** Namespace of requests without `?namespace=`; undefined: the parameter is required. */
  namespace?: string | undefined;
  /** Namespaces that this API serves; empty: all. */
  watched: readonly string[];
}

/** RFC 6750 §2.1 */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Uses TokenReview and SubjectAccessReview. Caches nothing, so a revoked permission takes effect with the next request. */
export function clusterAuthenticator({
  api,
  apiGroup,
  namespace: usual,
  watched,
}: ClusterAuthenticatorOptions): Authenticator {
  return {
    admit({ headers }) {
      if (headers.host === undefined) throw new Problem('foreign_host', 'Host: name the server that is called');
      checkOrigin(headers, [`https://${headers.host}`]);
    },
    async authenticate({ headers: { authorization = '' } }: IncomingMessage) {
      const [, token] = BEARER.exec(authorization) ?? [];
      if (token === undefined) throw notValid();
      const user = await reviewToken(api, token);
      return {
        name: user.username,
        in: (namespace) => ({
          name: user.username,
          check: (permission) => reviewAccess(user, permission, { api, apiGroup, namespace }),
        }),
      };
    },
    namespaceOf(asked = usual) {
      if (asked === undefined)
        throw new Problem('namespace_missing', 'write ?namespace= and the name of one namespace');
      const { data } = DnsLabel.safeParse(asked);
      if (data === undefined) throw new Problem('bad_request', 'namespace: write the name of one namespace');
      if (watched.length > 0 && !watched.includes(data))
        throw new Problem('forbidden', `namespace: this operator works for ${watched.join(', ')} alone`);
      return data;
    },
  };
}

const ACCESS_REVIEWS: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  namespaced: false,
};

const Reviewed = z.object({ status: z.object({ allowed: z.boolean(), denied: z.boolean().optional() }) });

/** @throws Problem `forbidden`; `unavailable` if the API server gives no decision */
export async function reviewAccess(
  user: User,
  permission: Permission,
  { api, apiGroup, namespace }: Pick<ClusterAuthenticatorOptions, 'api' | 'apiGroup'> & { namespace: string },
): Promise<void> {
  // An empty namespace would mean all namespaces.
  if (namespace === '') throw new Error(`${permission.resource} are used outside of a namespace`);
  const { verb, resource, group = apiGroup, name } = permission;
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
