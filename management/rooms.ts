import type { Clients } from './clients/clients.ts';
import type { OpenApiDocument } from './document/openapi-document.ts';
import type { Groups } from './groups/groups.ts';
import type { ImageProvenance } from './provenance/image-provenance.ts';
import type { Registries } from './registries/registries.ts';
import type { Secrets } from './secrets/secrets.ts';
import type { Skills } from './skills/skills.ts';
import type { BackgroundWork } from './workloads/background-work.ts';
import type { RunConfigurations } from './workloads/export/run-configurations.ts';
import type { Workloads } from './workloads/workloads.ts';

/** What operations work with, of one namespace. Each part is a room of its own beside this file. */
export interface Rooms {
  /** Version of this program. */
  version: string;
  /** What `/openapi.json` answers. */
  openApi: OpenApiDocument;
  clients: Clients;
  provenance: ImageProvenance;
  registries: Registries;
  secrets: Secrets;
  skills: Skills;
  workloads: Workloads;
  runConfigurations: RunConfigurations;
  groups: Groups;
  /** What goes on in the background. */
  operations: BackgroundWork;
  /** Milliseconds since the epoch. */
  now: () => number;
}
