import { newSession, type ClientProfile, type Session } from '../session.ts';

const PROFILE: ClientProfile = {
  paramsText: '{}',
  capabilities: '{}',
  revision: '2025-11-25',
  clientName: undefined,
  clientVersion: undefined,
};

/** Returns a session that was opened and last used at 0. */
export function anySession(id = 's'): Session {
  return newSession({ id, principal: 'ann', countedFor: 'ann', profile: PROFILE, openedAt: 0, lastUsed: 0 });
}
