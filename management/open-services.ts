import type { OpenApiDocument } from './document/openapi-document.ts';
import type { Services } from './services.ts';
import type { WorkloadServices } from './workloads/workload-services.ts';

interface Openers {
  version: string;
  openApi: OpenApiDocument;
  clients: (namespace: string) => Services['clients'];
  provenance: (namespace: string) => Services['provenance'];
  registries: (namespace: string) => Services['registries'];
  secrets: (namespace: string) => Services['secrets'];
  skills: (namespace: string) => Services['skills'];
  workloads: (namespace: string) => WorkloadServices;
}

/** Creates each service on first access. Operations without a namespace access none. */
export function openServices({ version, openApi, ...open }: Openers): (namespace: string) => Services {
  return (namespace) => ({
    version,
    openApi,
    now: Date.now,
    get clients() {
      return open.clients(namespace);
    },
    get provenance() {
      return open.provenance(namespace);
    },
    get registries() {
      return open.registries(namespace);
    },
    get secrets() {
      return open.secrets(namespace);
    },
    get skills() {
      return open.skills(namespace);
    },
    get workloads() {
      return open.workloads(namespace).workloads;
    },
    get runConfigurations() {
      return open.workloads(namespace).runConfigurations;
    },
    get groups() {
      return open.workloads(namespace).groups;
    },
    get operations() {
      return open.workloads(namespace).operations;
    },
  });
}
