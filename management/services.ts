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

/** Services of one namespace that operations use. The files beside this one define them. */
export interface Services {
  /** Version of this program. */
  version: string;
  /** Document that `/openapi.json` answers. */
  openApi: OpenApiDocument;
  clients: Clients;
  provenance: ImageProvenance;
  registries: Registries;
  secrets: Secrets;
  skills: Skills;
  workloads: Workloads;
  runConfigurations: RunConfigurations;
  groups: Groups;
  /** Operations in the background. */
  operations: BackgroundWork;
  /** Milliseconds since the epoch. */
  now: () => number;
}
