import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Status } from '#crds/kinds/status';
import { STORED_SECRET } from '#crds/parts/defaults';
import { proxyOf } from '#lib/connections/proxy';
import { FileLock } from '#lib/files/file-lock';
import { readLocalStatus } from '#local/local-status-file';
import type { StateFolder } from '#local/state-folder';
import { keyText, type ResourceKey } from '#operator/snapshot';
import { type Home, homeOf } from '../clients/files/clients.ts';
import { localClients } from '../clients/local-clients.ts';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import { openServices } from '../open-services.ts';
import { perNamespace } from '../per-namespace.ts';
import { ImageProvenance, openRoots, ROOTS_VARIABLE } from '../provenance/image-provenance.ts';
import { limitChecks } from '../provenance/limit-checks.ts';
import { Registries } from '../registries/registries.ts';
import { localQuota } from '../registries/registry-quota.ts';
import type { LocalSecrets } from '../secrets/local-secrets.ts';
import type { Services } from '../services.ts';
import { LocalSkills } from '../skills/local-skills.ts';
import { FETCH_DEADLINE } from '../skills/skill-source.ts';
import type { Skills } from '../skills/skills.ts';
import { fileRecords } from '../stores/file-records.ts';
import { folderConfigMaps } from '../stores/folder-config-maps.ts';
import { folderResources } from '../stores/folder-resources.ts';
import { ManifestFiles } from '../stores/manifest-files.ts';
import { localPorts, localRuntime } from '../workloads/local-runtime.ts';
import { type WorkloadServices, workloadServices } from '../workloads/workload-services.ts';

/** Returns the same services with and without a running `vmcp up`. */
export function localServices(deps: LocalDeps): (namespace: string) => Services {
  const { version, secrets, state, environment } = deps;
  const registries = perNamespace((namespace) => localRegistries(deps, namespace));
  const roots = openRoots({
    folder: environment[ROOTS_VARIABLE],
    cache: join(state.path, 'sigstore'),
    now: Date.now,
  });
  const limit = limitChecks();
  const proxy = proxyOf(environment);
  return openServices({
    version,
    openApi: renderOpenApi(OPERATIONS, version),
    clients: (namespace) => localClients(deps, namespace),
    provenance: (namespace) =>
      new ImageProvenance({ registries: registries(namespace), roots, limit, privateAddresses: true, proxy }),
    registries,
    secrets: (namespace) => secrets.in(namespace),
    skills: openLocalSkills(deps),
    workloads: perNamespace(localWorkloads(deps)),
  });
}

function localWorkloads({ state, folder, onFailure }: LocalDeps): (namespace: string) => WorkloadServices {
  const files = new ManifestFiles(folder, new FileLock(join(state.path, 'manifests.lock')));
  const statusOf = statusReader(state);
  return (namespace) =>
    workloadServices({
      resources: folderResources({ files, namespace, statusOf, now: Date.now }),
      configMaps: folderConfigMaps(files, namespace),
      runtime: {
        ...localRuntime(state),
        ports: localPorts(state, namespace, () => files.read().manifests),
      },
      records: fileRecords(join(state.path, 'records'), namespace)('operations'),
      now: Date.now,
      onFailure,
    });
}

function localRegistries({ state, environment, secrets, onFailure }: LocalDeps, namespace: string): Registries {
  const records = fileRecords(join(state.path, 'records'), namespace);
  return new Registries({
    settings: records('registries'),
    copies: records('registrycopies'),
    proxy: proxyOf(environment),
    privateAddresses: true,
    readSecret: async ({ name, key }) =>
      name === STORED_SECRET ? (await secrets.read(namespace, [key])).get(key) : undefined,
    now: Date.now,
    quota: localQuota(),
    onProblem: onFailure,
  });
}

function statusReader(state: StateFolder): (key: ResourceKey) => Status | undefined {
  let seen = '';
  let statuses = new Map<string, Status>();
  return (key) => {
    const now = signatureOf(state.status) + signatureOf(state.lock);
    if (now !== seen) {
      const resources = readLocalStatus(state)?.resources ?? [];
      statuses = new Map(resources.map((one) => [keyText(one.key), one.status]));
      seen = now;
    }
    return statuses.get(keyText(key));
  };
}

function signatureOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs} ` : '- ';
}

function openLocalSkills(deps: LocalDeps): (namespace: string) => Skills {
  const { environment } = deps;
  const home = homeOf(environment);
  const skills = new LocalSkills({
    folder: join(stateOf(home), 'vmcp', 'skills'),
    home,
    rules: {
      localPaths: true,
      privateAddresses: true,
      proxy: proxyOf(environment),
      searchPath: environment.PATH ?? '',
      deadline: FETCH_DEADLINE,
    },
    now: Date.now,
  });
  return (namespace) => skills.for(localClients(deps, namespace));
}

/** Follows the XDG Base Directory Specification; other systems use the same path, because they define none. */
function stateOf({ path, environment }: Home): string {
  return environment.XDG_STATE_HOME ?? join(path, '.local', 'state');
}

export interface LocalDeps {
  state: StateFolder;
  folder: string;
  /** The same secrets that the running vmcp reads. */
  secrets: LocalSecrets;
  environment: NodeJS.ProcessEnv;
  version: string;
  /** Receives internal failures; the text holds no secret. */
  onFailure: (text: string) => void;
}
