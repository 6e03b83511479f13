import { randomUUID } from 'node:crypto';
import type { ChangeEvent } from './serving.ts';

/** Uses the format of the runtime's events. Holds path parameters only, because bodies may hold secrets. */
export function renderAuditLine(event: ChangeEvent, loggedAt: Date): string {
  const { type, outcome, source, user, method, path, namespace, params, durationMs, code } = event;
  const name = typeof params.name === 'string' ? params.name : params.key;
  const line = {
    audit_id: randomUUID(),
    type,
    logged_at: loggedAt.toISOString(),
    outcome,
    component: 'vmcp-management',
    source,
    subjects: { ...(user !== undefined && { user }) },
    target: { endpoint: path, method, type: path.split('/')[1], ...(name !== undefined && { name }) },
    metadata: { duration_ms: Math.round(durationMs * 1000) / 1000, transport: 'http' },
    data: { ...(namespace && { namespace }), ...params, ...(code !== undefined && { code }) },
  };
  return `${JSON.stringify(line)}\n`;
}
