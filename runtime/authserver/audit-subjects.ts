import type { AuditEvent } from '#runtime/audit/audit';
import type { UserProfile } from './storage/rows.ts';

/** Names the subjects as the audit lines of requests do. `undefined`: the user is not known yet. */
export function auditSubjects(user: UserProfile | undefined): NonNullable<AuditEvent['subjects']> {
  if (user === undefined) return {};
  const { preferred_username: preferred } = user.claims;
  const name = user.email ?? (typeof preferred === 'string' ? preferred : user.name);
  return { user: name ?? user.sub, user_id: user.sub };
}
