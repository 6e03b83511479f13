import type { LiveSession } from '../storage/rows.ts';

/**
 * Sessions as the storage last gave them to the token endpoint, so that their next refresh costs one look less. What may be old in
 * them only makes the primary provider be asked earlier; whether a session is still there is the rotation's to say.
 */
export interface KnownSessions {
  get(key: string): LiveSession | undefined;
  set(key: string, session: LiveSession): void;
  delete(key: string): void;
}

/** At most `capacity` of them, the oldest forgotten first. */
export function createKnownSessions(capacity: number): KnownSessions {
  const sessions = new Map<string, LiveSession>();
  return {
    get: (key) => sessions.get(key),
    set(key, session) {
      sessions.delete(key);
      const [oldest] = sessions.keys();
      if (sessions.size >= capacity && oldest !== undefined) sessions.delete(oldest);
      sessions.set(key, session);
    },
    delete: (key) => void sessions.delete(key),
  };
}
