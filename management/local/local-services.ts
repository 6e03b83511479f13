import { join } from 'node:path';
import { proxyOf } from '#lib/connections/proxy';
import { FileLock } from '#lib/files/file-lock';
import { localClients } from '../clients/local-clients.ts';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import { openServices } from '../open-services.ts';
import { perNamespace } from '../per-namespace.ts';
import { ImageProvenance, openRoots, ROOTS_VARIABLE } from '../provenance/image-provenance.ts';
import { limitChecks } from '../provenance/limit-checks.ts';
import { localRegistries } from '../registries/local-registries.ts';
import type { Services } from '../services.ts';
import { openLocalSkills } from '../skills/open-local-skills.ts';
import { fileRecords } from '../stores/file-records.ts';
import { folderConfigMaps } from '../stores/folder-config-maps.ts';
import { folderResources } from '../stores/folder-resources.ts';
import { ManifestFiles } from '../stores/manifest-files.ts';
import { localPorts, localRuntime } from '../workloads/local-runtime.ts';
import { type WorkloadServices, workloadServices } from '../workloads/workload-services.ts';
import { statusReader } from './status-reader.ts';
import type { LocalPlace } from './local-place.ts';

/** Returns the same services with and without a running `vmcp up`. */
export function localServices(place: LocalPlace): (namespace: string) => Services {
  const { version, secrets, state, environment } = place;
  const registries = perNamespace((namespace) => localRegistries(place, namespace));
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
    clients: (namespace) => localClients(place, namespace),
    provenance: (namespace) =>
      new ImageProvenance({ registries: registries(namespace), roots, limit, privateAddresses: true, proxy }),
    registries,
    secrets: (namespace) => secrets.in(namespace),
    skills: openLocalSkills(place),
    workloads: perNamespace(localWorkloads(place)),
  });
}

function localWorkloads({ state, folder, onFailure }: LocalPlace): (namespace: string) => WorkloadServices {
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
