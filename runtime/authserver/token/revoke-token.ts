import { revokeAssertions, slotOf } from '../assertions/revocations.ts';
import { auditSubjects } from '../audit-subjects.ts';
import type { Handler } from '../handler.ts';
import { authenticateClient } from './authenticate-client.ts';
import { findToken } from './find-token.ts';
import { readForm, required } from './read-form.ts';
import type { TokenSettings } from './token-settings.ts';
import type { SessionRow } from '../storage/rows.ts';

/** RFC 7009. Either token ends its login. An unknown, expired or foreign token gets the same answer, which reveals nothing. */
export function createRevokeToken(settings: TokenSettings): Handler {
  return async (facts) => {
    const parameters = readForm(facts);
    const clientId = await authenticateClient(facts, parameters, settings);
    const found = await findToken(required(parameters, 'token'), settings);
    if (found?.session.client_id === clientId) {
      const { key, session } = found;
      await revokeOthers(key, session, settings);
      await settings.storage.endSession(key);
      settings.ended(key, session.sub);
      settings.record({
        type: 'auth_token_revoked',
        outcome: 'success',
        source: facts.remoteAddress,
        subjects: auditSubjects(session.user),
        details: { client_id: clientId, reason: 'the client asked for it' },
      });
    }
    return { status: 200, headers: {}, body: '' };
  };
}

/** Refuses assertions of the same user, client and resource that were issued up to now. */
async function revokeOthers(key: string, session: SessionRow, settings: TokenSettings): Promise<void> {
  const slot = slotOf(session);
  if ((await settings.storage.get('slot', slot))?.session === key) await revokeAssertions(settings, slot);
}
