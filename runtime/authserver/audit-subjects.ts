import type { AuditEvent } from '#runtime/audit/audit';
import type { UserProfile } from './storage/rows.ts';

/**
 * Returns the audit subjects of a user, named as in the audit lines of requests. `undefined`: the user is not known
 * yet.
 */
export function auditSubjects(user: UserProfile | undefined): NonNullable<AuditEvent['subjects']> {
  if (user === undefined) return {};
  const { preferred_username: preferred } = user.claims;
  const name = user.email ?? (typeof preferred === 'string' ? preferred : user.name);
  return { user: name ?? user.sub, user_id: user.sub };
}
