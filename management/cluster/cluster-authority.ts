import type { IncomingMessage } from 'node:http';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { DnsLabel } from '#crds/parts/primitives';
import { checkOrigin } from '../check-origin.ts';
import { Problem } from '../problem.ts';
import type { Authority } from '../serving.ts';
import { reviewAccess } from './review-access.ts';
import { notValid, reviewToken } from './review-token.ts';

interface ClusterAuthorityOptions {
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
export function clusterAuthority({ api, apiGroup, namespace: usual, watched }: ClusterAuthorityOptions): Authority {
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
          check: (touch) => reviewAccess(user, touch, { api, apiGroup, namespace }),
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
