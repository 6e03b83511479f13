import { ACCEPTED_BOUNDARIES } from './accepted-boundaries.ts';
import { ACCEPTED_FIELDS } from './accepted-fields.ts';
import { ACCEPTED_OTHERS } from './accepted-others.ts';
import { ACCEPTED_SETTINGS } from './accepted-settings.ts';
import { REFUSED_AUTH_SERVER } from './refused-auth-server.ts';
import { REFUSED_BY_RUNTIME } from './refused-by-runtime.ts';
import { REFUSED_DOCUMENTS } from './refused-documents.ts';
import { REFUSED_INCOMING } from './refused-incoming.ts';
import { REFUSED_OUTGOING } from './refused-outgoing.ts';
import { REFUSED_RULES } from './refused-rules.ts';
import { REFUSED_SETTINGS } from './refused-settings.ts';
import { REFUSED_WORKLOAD } from './refused-workload.ts';

/** Manifests without problems. */
export const ACCEPTED = [...ACCEPTED_BOUNDARIES, ...ACCEPTED_SETTINGS, ...ACCEPTED_OTHERS, ...ACCEPTED_FIELDS];

/** Manifests with all their expected problems. */
export const REFUSED = [
  ...REFUSED_DOCUMENTS,
  ...REFUSED_INCOMING,
  ...REFUSED_OUTGOING,
  ...REFUSED_AUTH_SERVER,
  ...REFUSED_SETTINGS,
  ...REFUSED_WORKLOAD,
  ...REFUSED_RULES,
  ...REFUSED_BY_RUNTIME,
];
