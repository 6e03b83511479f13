import type { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { Resource } from '#operator/kubernetes/api/object';
import { Problem } from '../problem.ts';

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
