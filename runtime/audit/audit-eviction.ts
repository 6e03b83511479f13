import { subjectOf } from '#runtime/incoming/build-identity';
import type { Eviction } from '#runtime/mcp/sessions/evict-session';
import type { Audit } from './audit.ts';

export function auditEviction(audit: Audit, eviction: Eviction): void {
  const { reason, principal, session, revision, clientName, clientVersion, idle } = eviction;
  audit.record({
    type: 'mcp_session_evicted',
    outcome: 'success',
    subjects: { user_id: principal && subjectOf(principal), client_name: clientName, client_version: clientVersion },
    metadata: { revision, session },
    details: { reason, idle_ms: Math.round(idle) },
  });
}
