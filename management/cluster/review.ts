import type { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { Resource } from '#operator/kubernetes/api/object';
import { Problem } from '../problem.ts';

/** Milliseconds: the API server answers in a few, or not at all. */
const DEADLINE = 5000;

/**
 * Has the API server decide something. What it does not say in time, or not in this shape, is decided by nobody.
 * @throws Problem `unavailable`
 */
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
