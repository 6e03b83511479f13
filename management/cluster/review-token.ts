import { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { Resource } from '#operator/kubernetes/api/object';
import { Problem } from '../problem.ts';

/** Required audience. Callers must not send tokens for the API server itself to other services. */
const AUDIENCE = 'vmcp-management';

const TOKEN_REVIEWS: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  namespaced: false,
};

const User = z.object({
  username: z.string().min(1),
  uid: z.string().optional(),
  groups: z.array(z.string()).optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});
export type User = z.infer<typeof User>;

const Reviewed = z.object({
  status: z.union([
    z.object({ authenticated: z.literal(true), audiences: z.array(z.string()).default([]), user: User }),
    z.object({ authenticated: z.literal(false).optional() }),
  ]),
});

/** @throws Problem `unauthenticated`; `unavailable` if the API server gives no decision */
export async function reviewToken(api: KubeApi, token: string): Promise<User> {
  const { status } = await review(
    api,
    TOKEN_REVIEWS,
    { kind: 'TokenReview', spec: { token, audiences: [AUDIENCE] } },
    Reviewed,
  );
  // An authenticator without support for audiences returns none, whatever was requested.
  if (status.authenticated !== true || !status.audiences.includes(AUDIENCE)) throw notValid();
  return status.user;
}

export function notValid(): Problem {
  const detail = `send a token for audience ${AUDIENCE} as Authorization: Bearer, e.g. of kubectl create token --audience ${AUDIENCE}`;
  return new Problem('unauthenticated', detail, { headers: { 'WWW-Authenticate': 'Bearer realm="vmcp-management"' } });
}

/** Milliseconds. The API server usually answers in a few. */
const DEADLINE = 5000;

/** Treats a late or malformed answer as an error. @throws Problem `unavailable` */
export async function review<S extends z.ZodType>(
  api: KubeApi,
  resource: Resource,
  { kind, spec }: { kind: string; spec: object },
  answer: S,
): Promise<z.output<S>> {
  const asked = { apiVersion: `${resource.group}/${resource.version}`, kind, metadata: { name: '' }, spec };
  try {
    return answer.parse(await api.create(resource, asked, { deadline: DEADLINE }));
  } catch (cause) {
    throw new Problem('unavailable', `the API server does not say who may do what (${kind}): try again`, { cause });
  }
}
