import { z } from 'zod';
import { CATEGORY, DEFAULT_API_GROUP, KIND_NAMES, VERSION } from '#crds/kinds/index';
import { isStatus } from '#operator/kubernetes/api/api-error';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

const Groups = z.object({
  groups: z.array(z.object({ name: z.string(), versions: z.array(z.object({ version: z.string() })) })),
});
const Resources = z.object({
  resources: z.array(z.object({ name: z.string(), categories: z.array(z.string()).optional() })),
});

/** Groups reserved for Kubernetes. The API server accepts definitions there only with approval of the project. */
const THEIRS = /(^|\.)k8s\.io$/;
const PLURAL = KIND_NAMES.VirtualMCPServer.plural;

/** Returns whether a group serves vmcp's kinds. Other products have kinds of the same names, in other categories. */
async function servesOurs(api: KubeApi, group: string): Promise<boolean> {
  try {
    const { resources } = Resources.parse(await api.getPath(`/apis/${group}/${VERSION}`));
    return resources.some(({ name, categories = [] }) => name === PLURAL && categories.includes(CATEGORY));
  } catch (problem) {
    // The definition was deleted, or an aggregated API server is down. vmcp's definitions are served by the API server itself.
    if (isStatus(problem, 404, 503)) return false;
    throw problem;
  }
}

/**
 * Returns the API group of the kinds in a cluster: `named`, else the only group that discovery lists, else the default. Every account may
 * read discovery.
 * @throws CliError when there are several groups
 * @throws ApiError when the cluster does not answer
 */
export async function findApiGroup(api: KubeApi, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const { groups } = Groups.parse(await api.getPath('/apis'));
  const asked = groups
    .filter(({ name, versions }) => !THEIRS.test(name) && versions.some(({ version }) => version === VERSION))
    .map(({ name }) => name);
  const answers = await Promise.all(asked.map((group) => servesOurs(api, group)));
  const found = asked.filter((_, index) => answers[index]).sort();
  if (found.length > 1) {
    const remedy = `name the one of your installation with --api-group, e.g. --api-group ${found[0]}`;
    throw new CliError(EXIT_CODES.input, `this cluster has several installations: ${found.join(', ')}; ${remedy}`);
  }
  return found[0] ?? DEFAULT_API_GROUP;
}
