import { readStatus, type Status } from '#crds/kinds/status';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { KubeApi } from '#operator/kubernetes/api/api';
import { mayHaveRuntime } from '#operator/plan/child-names';
import type { Manifest } from '#operator/snapshot';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ShownStatus } from '../summarise-status.ts';
import { connectCluster, explainFailure } from './connect-cluster.ts';
import { findApiGroup } from './find-api-group.ts';
import { listManifests } from './list-manifests.ts';
import type { ServerOptions } from './target.ts';

/** Stands for a missing or unreadable operator status. */
const unseen = ({ metadata: { namespace, creationTimestamp } }: Manifest): Status => ({
  phase: 'Pending',
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'NotSeen',
      message: `no operator has said anything of it yet: see whether one of this version runs, and watches namespace ${namespace}`,
      lastTransitionTime: creationTimestamp ?? '',
    },
  ],
});

function shownOf(manifests: Manifest[]): ShownStatus['resources'] {
  return manifests.map((manifest) => {
    const { kind, metadata, status } = manifest;
    const key = { kind, namespace: metadata.namespace, name: metadata.name };
    return { key, status: readStatus(status) ?? unseen(manifest), isEndpoint: mayHaveRuntime(manifest) };
  });
}

/** Uses the rights of the kubeconfig. @throws CliError: no answer, no right to read, or no vmcp */
export async function readClusterStatus(options: ServerOptions): Promise<ShownStatus> {
  const connection = connectCluster(options);
  const api = new KubeApi(connection);
  const namespace = options.namespace ?? api.namespace ?? 'default';
  try {
    const installation = { api, apiGroup: await findApiGroup(api, options.apiGroup) };
    const [servers, backends] = await Promise.all([
      listManifests(installation, 'VirtualMCPServer', namespace),
      listManifests(installation, 'MCPServer', namespace),
    ]);
    return { resources: shownOf([...servers, ...backends]), problems: [], processes: [] };
  } catch (problem) {
    if (!isStatus(problem, 404)) throw explainFailure(problem, { server: connection.server, namespace });
    const message = `vmcp is not installed in ${connection.server}: an administrator installs its chart, or another context is named`;
    throw new CliError(EXIT_CODES.notRunning, message, { cause: problem });
  } finally {
    await api.close();
  }
}
