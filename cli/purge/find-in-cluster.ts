import { isIP } from 'node:net';
import { isStatus } from '#operator/kubernetes/api/api-error';
import { KubeApi } from '#operator/kubernetes/api/api';
import { manifestOf } from '#operator/kubernetes/api/object';
import { ownResource, PODS, SECRETS } from '#operator/kubernetes/api/resources';
import { runtimeSelector, selectorText } from '#operator/plan/object-parts';
import { type Kind, keyText, type Manifest } from '#operator/snapshot';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { connectCluster, explainFailure } from '../management/connect-cluster.ts';
import { findApiGroup } from '../management/find-api-group.ts';
import { kubectlFor, type TargetOptions } from '../management/target.ts';
import { type Installation, listManifests } from '../management/list-manifests.ts';
import { type Neighbour, readServer, SERVER_KINDS, type ServerKey, shownServer, type Stored } from './stored.ts';
import {
  authConfigNameOf,
  placesOfNeighbour,
  secretFile,
  type WrittenKeys,
  findWrittenKeys,
} from './find-written-keys.ts';

async function read(
  { api, apiGroup }: Installation,
  kind: Kind,
  namespace: string,
  name: string,
): Promise<Manifest | undefined> {
  try {
    return manifestOf(kind, await api.get(ownResource(kind, apiGroup), { namespace, name }));
  } catch (problem) {
    if (isStatus(problem, 404)) return undefined;
    throw problem;
  }
}

async function placesOf(place: Installation, manifest: Manifest): Promise<WrittenKeys[]> {
  const name = authConfigNameOf(manifest);
  const config =
    name === undefined ? undefined : await read(place, 'MCPExternalAuthConfig', manifest.metadata.namespace, name);
  return findWrittenKeys(manifest, config);
}

/** Running pods would write deleted keys again. */
async function hasPods(api: KubeApi, { kind, namespace, name }: ServerKey): Promise<boolean | undefined> {
  const labelSelector = selectorText(runtimeSelector({ kind, metadata: { name } }));
  try {
    return (await api.list(PODS, { namespace, labelSelector }, { limit: 1 })).items.length > 0;
  } catch (problem) {
    if (isStatus(problem, 403)) return undefined;
    throw problem;
  }
}

async function whyRemaining(api: KubeApi, key: ServerKey, manifest: Manifest | undefined): Promise<string | undefined> {
  const name = shownServer(key);
  if (manifest) return `${name} is still there`;
  const pods = await hasPods(api, key);
  if (pods === undefined) return `whether pods of ${name} still run cannot be seen: you may not list pods`;
  return pods ? `pods of ${name} still run: wait until they have ended` : undefined;
}

/** Falls back to this namespace if the account may not list others; none without the definitions. */
async function listOf(place: Installation, kind: Kind, namespace: string): Promise<Manifest[]> {
  try {
    return await listManifests(place, kind, undefined);
  } catch (problem) {
    if (isStatus(problem, 404)) return [];
    if (isStatus(problem, 403)) return listManifests(place, kind, namespace);
    throw problem;
  }
}

async function findNeighbours(place: Installation, key: ServerKey): Promise<Neighbour[]> {
  const [servers, configs] = await Promise.all([
    Promise.all(SERVER_KINDS.map((kind) => listOf(place, kind, key.namespace))),
    listOf(place, 'MCPExternalAuthConfig', key.namespace),
  ]);
  const placeOf = (namespace: string, name = '') => `${namespace}/${name}`;
  const byPlace = new Map(configs.map((one) => [placeOf(one.metadata.namespace, one.metadata.name), one]));
  const own = keyText(key);
  return servers
    .flat()
    .filter(({ kind, metadata }) => keyText({ kind, ...metadata }) !== own)
    .map((manifest) => {
      const { namespace, name } = manifest.metadata;
      const config = byPlace.get(placeOf(namespace, authConfigNameOf(manifest)));
      return { shown: placeOf(namespace, name), places: placesOfNeighbour(manifest, config) };
    });
}

/** Reads only the Secrets that the places name. */
async function readValues(api: KubeApi, namespace: string, places: readonly WrittenKeys[]) {
  const values = new Map<string, string>();
  const refused = new Set<string>();
  for (const reference of places.flatMap(({ references }) => references)) {
    const { name, key } = reference;
    try {
      const data = (await api.get(SECRETS, { namespace, name })).data as Record<string, string> | undefined;
      if (data?.[key] !== undefined)
        values.set(secretFile(reference), Buffer.from(data[key], 'base64').toString('utf8'));
    } catch (problem) {
      if (!isStatus(problem, 403, 404)) throw problem;
      if (problem.status === 403) refused.add(secretFile(reference));
    }
  }
  return (file: string): string => {
    const value = values.get(file);
    if (value !== undefined) return value;
    const [code, problem] = refused.has(file)
      ? [EXIT_CODES.forbidden, 'may not be read by you']
      : [EXIT_CODES.input, 'is not there'];
    throw new CliError(code, `the Secret ${namespace}/${file} ${problem}: write --password-file`);
  };
}

function remedyFor(options: TargetOptions, home: string): (host: string) => string {
  return (host) => {
    const [service = host, namespace = home] = isIP(host) !== 0 ? ['<redis>'] : host.split('.');
    return (
      `where it is inside of the cluster, run "${kubectlFor(options, namespace)} port-forward service/${service} 6379" ` +
      'beside this, and name that with --redis-address 127.0.0.1:6379 (behind Sentinels: the pod that is master now)'
    );
  };
}

/** Reads what the kubeconfig permits. `close` ends the connections. @throws CliError */
export async function findInCluster(
  server: string,
  options: TargetOptions,
): Promise<{ key: ServerKey; stored: Stored; close: () => Promise<void> }> {
  const connection = connectCluster(options);
  const api = new KubeApi(connection);
  const namespace = options.namespace ?? api.namespace ?? 'default';
  try {
    const key = readServer(server, namespace);
    const place = { api, apiGroup: await findApiGroup(api, options.apiGroup) };
    const manifest = await read(place, key.kind, key.namespace, key.name);
    const written = manifest ? await placesOf(place, manifest) : [];
    const stored: Stored = {
      standing: await whyRemaining(api, key, manifest),
      written,
      neighbours: await findNeighbours(place, key),
      readSecret: await readValues(api, key.namespace, written),
      files: [],
      removeFiles: () => undefined,
      remedy: remedyFor(options, key.namespace),
    };
    return { key, stored, close: () => api.close() };
  } catch (problem) {
    await api.close();
    throw explainFailure(problem, { server: connection.server, namespace });
  }
}
