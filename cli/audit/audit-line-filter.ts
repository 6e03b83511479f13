import { AuditLine } from '#crds/parts/audit-line';

export interface AuditFilter {
  /** Name or subject of the caller. */
  user?: string;
  /** Tool, prompt or resource. */
  tool?: string;
  backend?: string;
  outcome?: AuditLine['outcome'];
}

/** Returns undefined for lines of the log that are no audit lines, and for damaged ones. */
export function readAuditLine(text: string): AuditLine | undefined {
  if (!text.startsWith('{"audit_id"')) return undefined;
  try {
    return AuditLine.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** `since`: milliseconds of the epoch. */
export function matches(line: AuditLine, since: number, { user, tool, backend, outcome }: AuditFilter): boolean {
  const { subjects, target } = line;
  if (user !== undefined && subjects.user !== user && subjects.user_id !== user) return false;
  if (tool !== undefined && target.name !== tool) return false;
  if (backend !== undefined && target.backend !== backend) return false;
  if (outcome !== undefined && line.outcome !== outcome) return false;
  return Date.parse(line.logged_at) >= since;
}
