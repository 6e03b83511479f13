import { auditSubjects } from '../audit-subjects.ts';
import type { Handler } from '../handler.ts';
import { authenticateClient } from './authenticate-client.ts';
import { findToken } from './find-token.ts';
import { readForm, required } from './read-form.ts';
import type { TokenSettings } from './token-settings.ts';

/** RFC 7009. Either token ends its login. An unknown, expired or foreign token gets the same answer, which reveals nothing. */
export function createRevokeToken(settings: TokenSettings): Handler {
  return async (facts) => {
    const parameters = readForm(facts);
    const clientId = await authenticateClient(facts, parameters, settings);
    const found = await findToken(required(parameters, 'token'), settings);
    if (found?.session.client_id === clientId) {
      const { key, session } = found;
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
