import { type ClusterFacts, KINDS, type Manifest } from '#operator/snapshot';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import { type KubeObject, manifestOf } from '../api/object.ts';
import { findNames } from '../watch/find-names.ts';
import { readFlags } from '../program/flags.ts';
import { CONFIG_MAPS, DEPLOYMENTS, ownResource } from '../api/resources.ts';
import type { Written } from './render-objects.ts';

interface OperatorDeployment extends KubeObject {
  spec: { template: { spec: { containers: { name: string; args?: string[] }[] } } };
}

/** Returns the flags of a cluster's operator, read from its Deployment; undefined if it is missing or not readable. */
export async function findOperator(api: KubeApi, apiGroup: string): Promise<ClusterFacts | undefined> {
  const labelSelector = 'app.kubernetes.io/name=vmcp-operator';
  const found = await api.list(DEPLOYMENTS, { labelSelector }).catch((problem: unknown) => {
    if (isStatus(problem, 403)) return { items: [] };
    throw problem;
  });
  for (const deployment of found.items as OperatorDeployment[]) {
    const { args } = deployment.spec.template.spec.containers.find(({ name }) => name === 'operator') ?? {};
    const facts = args && factsOf(args, apiGroup, deployment.metadata.namespace);
    if (facts) return facts;
  }
  return undefined;
}

function factsOf(args: string[], apiGroup: string, operatorNamespace: string | undefined): ClusterFacts | undefined {
  const quiet = { out: () => undefined, err: () => undefined };
  const flags = readFlags(args, '', quiet);
  if (flags.apiGroup !== apiGroup) return undefined;
  return {
    mode: 'cluster',
    runtimeImage: flags.runtimeImage,
    allowHostPaths: flags.allowHostPaths,
    stdioAttach: flags.stdioAttach,
    imagePullSecrets: flags.imagePullSecret,
    scraperNamespaces: flags.scraperNamespace,
    podAnnotations: flags.podAnnotation,
    sidecarsOf: flags.sidecarsOf,
    runtimeEnv: flags.runtimeEnv,
    ...(operatorNamespace !== undefined && { operatorNamespace }),
  };
}

/** Reads all resources of vmcp's kinds in some namespaces, and the ConfigMaps that they name. Reads no Secret. */
export async function readCluster(api: KubeApi, namespaces: readonly string[], apiGroup: string): Promise<Written> {
  const lists = await Promise.all(
    namespaces.flatMap((namespace) =>
      KINDS.map(async (kind) => {
        const { items } = await api.list(ownResource(kind, apiGroup), { namespace });
        return items.map((item) => manifestOf(kind, item));
      }),
    ),
  );
  const manifests = lists.flat();
  return { manifests, configMaps: await readConfigMaps(api, manifests) };
}

export async function readConfigMaps(
  api: KubeApi,
  manifests: readonly Manifest[],
): Promise<Map<string, Record<string, string>>> {
  const places = new Set(
    manifests.flatMap(({ metadata, spec }) =>
      [...findNames(spec).configMaps.keys()].map((name) => `${metadata.namespace}/${name}`),
    ),
  );
  const read = await Promise.all(
    [...places].map(async (place) => {
      const [namespace = '', name = ''] = place.split('/');
      try {
        const { data } = await api.get(CONFIG_MAPS, { namespace, name });
        return [[place, (data ?? {}) as Record<string, string>] as const];
      } catch (problem) {
        if (isStatus(problem, 403, 404)) return [];
        throw problem;
      }
    }),
  );
  return new Map(read.flat());
}
