import type { OpenApiDocument } from './document/openapi-document.ts';
import type { Rooms } from './rooms.ts';
import type { WorkloadRooms } from './workloads/workload-rooms.ts';

/** Functions that create the services of a namespace. */
interface Openers {
  version: string;
  openApi: OpenApiDocument;
  clients: (namespace: string) => Rooms['clients'];
  provenance: (namespace: string) => Rooms['provenance'];
  registries: (namespace: string) => Rooms['registries'];
  secrets: (namespace: string) => Rooms['secrets'];
  skills: (namespace: string) => Rooms['skills'];
  workloads: (namespace: string) => WorkloadRooms;
}

/**
 * Returns the services of a namespace, each created on first access. Operations without a namespace access none of
 * them.
 */
export function openRooms({ version, openApi, ...open }: Openers): (namespace: string) => Rooms {
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
