import { KubeApi } from '#operator/kubernetes/api/api';
import { type Change, compareObjects, type Difference } from '#operator/kubernetes/gitops/compare-rendered';
import { findOperator, readCluster, readConfigMaps } from '#operator/kubernetes/gitops/read-cluster';
import { renderObjects, type Written } from '#operator/kubernetes/gitops/render-objects';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { type ClusterFacts, keyText, type Manifest } from '#operator/snapshot';
import { type ClusterOptions, factsOf, readClusterFolder } from './cluster-folder.ts';
import type { Context } from './context.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { connectCluster, explainFailure } from './management/connect-cluster.ts';
import { printObject } from './print-object.ts';
import { troublesOf } from './render-cluster.ts';

export interface DiffOptions extends ClusterOptions {
  kubeconfig?: string;
  context?: string;
  output: 'table' | 'json';
}

const idOf = ({ kind, metadata: { namespace, name } }: Manifest) => keyText({ kind, namespace, name });

/** Keeps metadata that other writers added. */
function merged(written: Manifest, live: Manifest | undefined): Manifest {
  if (!live) return written;
  const { labels, annotations } = live.metadata;
  const metadata = {
    ...live.metadata,
    labels: { ...labels, ...written.metadata.labels },
    annotations: { ...annotations, ...written.metadata.annotations },
  };
  return { ...written, metadata };
}

function applied(folder: Written, live: Written): Written {
  const standing = new Map(live.manifests.map((manifest) => [idOf(manifest), manifest]));
  for (const manifest of folder.manifests) standing.set(idOf(manifest), merged(manifest, standing.get(idOf(manifest))));
  return { manifests: [...standing.values()], configMaps: new Map([...live.configMaps, ...folder.configMaps]) };
}

function rendered(written: Written, apiGroup: string, facts: ClusterFacts): KubeObject[] {
  const resources = written.manifests.map(({ apiVersion, kind, metadata, spec }) => ({
    apiVersion,
    kind,
    metadata,
    spec,
  }));
  return [...resources, ...renderObjects(written, apiGroup, facts).objects] as KubeObject[];
}

const LONGEST = 120;

function shown(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

const line = ({ path, before, after }: Difference) => `    ${path}: ${shown(before)} -> ${shown(after)}\n`;

function printChanges(changes: Change[], context: Context): void {
  if (changes.length === 0) context.out.write('no differences\n');
  for (const { sign, what, differences } of changes) {
    context.out.write(`${sign} ${what}\n${differences.map(line).join('')}`);
  }
}

/** Reads no Secret and writes nothing. Exit code 1 means differences. @throws CliError when the cluster does not answer or refuses */
export async function diff(folder: string, options: DiffOptions, context: Context): Promise<number> {
  const connection = connectCluster(options);
  const api = new KubeApi(connection);
  const namespace = options.namespace === '' ? (api.namespace ?? 'default') : options.namespace;
  try {
    return await compare(folder, namespace, options, context, api);
  } catch (problem) {
    throw explainFailure(problem, { server: connection.server, namespace });
  } finally {
    await api.close();
  }
}

async function compare(
  folder: string,
  namespace: string,
  options: DiffOptions,
  context: Context,
  api: KubeApi,
): Promise<number> {
  const written = readClusterFolder(folder, namespace, context);
  const { apiGroup } = written;
  const facts = (await findOperator(api, apiGroup)) ?? factsOf(options);
  const namespaces = [...new Set(written.manifests.map(({ metadata }) => metadata.namespace))];
  const live = await readCluster(api, namespaces, apiGroup);
  const after = applied(written, live);
  const missing = await readConfigMaps(api, written.manifests);
  const whole = { ...after, configMaps: new Map([...missing, ...after.configMaps]) };
  const { outcomes } = renderObjects(whole, apiGroup, facts);
  for (const trouble of outcomes.flatMap(troublesOf)) context.err.write(`${trouble}\n`);
  const changes = compareObjects(rendered(live, apiGroup, facts), rendered(whole, apiGroup, facts));
  if (options.output === 'json') context.out.write(printObject(changes, 'json'));
  else printChanges(changes, context);
  return changes.length > 0 || written.wrong ? EXIT_CODES.input : EXIT_CODES.ok;
}
