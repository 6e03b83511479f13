import { z } from 'zod';
import { mapOf } from './collections.ts';
import { oneBlockPerType } from './one-block-per-type.ts';
import { ObjectName, text } from './primitives.ts';
import { named } from './references.ts';

const ref = { block: 'externalAuthConfigRef' };

const OutgoingBackend = oneBlockPerType(
  z.strictObject({
    type: z
      .enum(['external_auth_config_ref', 'externalAuthConfigRef', 'discovered'])
      .describe(
        '`external_auth_config_ref` (also spelled externalAuthConfigRef): the named MCPExternalAuthConfig; `discovered`: what the MCPServer itself refers to.',
      ),
    externalAuthConfigRef: named('MCPExternalAuthConfig')
      .optional()
      .describe('Outgoing authentication for this backend.'),
  }),
  { external_auth_config_ref: ref, externalAuthConfigRef: ref, discovered: 'none' },
);
type OutgoingBackend = z.infer<typeof OutgoingBackend>;

/** Boundary 2: from the endpoint to each backend. */
export const OutgoingAuth = z.strictObject({
  source: z
    .enum(['discovered', 'inline'])
    .default('discovered')
    .describe(
      "`discovered`: each backend's own externalAuthConfigRef decides; `inline`: only `backends` and `default` do.",
    ),
  backends: mapOf(text(63).pipe(ObjectName), OutgoingBackend, 500)
    .optional()
    .describe('Backend name to how it is authenticated. A backend that is not listed gets unauthenticated requests.'),
  default: OutgoingBackend.optional().describe('For the backends that are not listed; used only when written.'),
});
export type OutgoingAuth = z.infer<typeof OutgoingAuth>;
