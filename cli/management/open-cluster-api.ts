import { KubeApi } from '#operator/kubernetes/api/api';
import { clusterServices } from '#management/cluster/cluster-services';
import type { Problem } from '#management/problem';
import { ROOTS_VARIABLE } from '#management/provenance/image-provenance';
import type { Context } from '../context.ts';
import type { CliError } from '../exit-codes.ts';
import { connectCluster, explainAway, explainFailure, rightsRemedy } from './connect-cluster.ts';
import { findApiGroup } from './find-api-group.ts';
import { inProcessApi } from './in-process-api.ts';
import type { ManagementApi } from './management-api.ts';
import { Refusal } from './refusal.ts';
import type { TargetOptions } from './target.ts';

/** Uses only the rights of the kubeconfig. @throws CliError: unusable kubeconfig, no answer, or several installations and none named */
export async function openClusterApi(
  options: TargetOptions,
  { version, environment, err }: Context,
  stop: AbortSignal,
): Promise<ManagementApi> {
  const connection = connectCluster(options);
  const kube = new KubeApi(connection);
  const namespace = options.namespace ?? kube.namespace ?? 'default';
  const apiGroup = await groupOf(kube, options, { server: connection.server, namespace });
  const services = clusterServices({
    api: kube,
    streams: kube,
    apiGroup,
    environment,
    // The user of this machine makes these requests.
    privateAddresses: true,
    sigstoreRoots: environment[ROOTS_VARIABLE],
    version,
    onFailure: (text) => void err.write(`${text}\n`),
  })(namespace);
  return inProcessApi({
    services,
    place: `namespace ${namespace}`,
    running: true,
    onFailure: ({ message }) => void err.write(`${message}\n`),
    explain: (problem) => explain(problem, { server: connection.server, namespace }),
    async close() {
      await services.operations.idle();
      await services.registries.close();
      await kube.close();
    },
    stop,
  });
}

/** Closes the connections on failure. */
async function groupOf(
  kube: KubeApi,
  { apiGroup }: TargetOptions,
  asked: { server: string; namespace: string },
): Promise<string> {
  try {
    return await findApiGroup(kube, apiGroup);
  } catch (problem) {
    await kube.close();
    throw explainFailure(problem, asked);
  }
}

function explain(
  { code, message, cause }: Problem,
  asked: { server: string; namespace: string },
): CliError | undefined {
  if (code !== 'forbidden') return explainAway(cause, asked);
  return new Refusal({ code, detail: `${message}\n${rightsRemedy(asked)}` }, { cause });
}
