import type { AuditLine } from '#crds/parts/audit-line';

/** Calls of one user at one target with one outcome. Durations are milliseconds, within two percent. */
export interface AuditSummary {
  user: string;
  name: string;
  backend: string;
  outcome: AuditLine['outcome'];
  count: number;
  p50?: number;
  p95?: number;
}

/** Counts durations in buckets, each two percent wider than the one before. */
const STEP = Math.log(1.02);

interface Group {
  row: AuditSummary;
  buckets: Map<number, number>;
}

/** Counts the lines by user, name, backend and outcome. Returns the largest groups first. */
export async function summariseLines(lines: AsyncIterable<AuditLine>): Promise<AuditSummary[]> {
  const groups = new Map<string, Group>();
  for await (const line of lines) {
    const { outcome, subjects, target, metadata } = line;
    const [user = '', name = line.type, backend = ''] = [
      subjects.user ?? subjects.user_id,
      target.name,
      target.backend,
    ];
    const key = JSON.stringify([user, name, backend, outcome]);
    const group = groups.get(key) ?? {
      row: { user, name, backend, outcome, count: 0 },
      buckets: new Map<number, number>(),
    };
    groups.set(key, group);
    group.row.count += 1;
    if (metadata.duration_ms === undefined) continue;
    const bucket = Math.round(Math.log(Math.max(metadata.duration_ms, 0.001)) / STEP);
    group.buckets.set(bucket, (group.buckets.get(bucket) ?? 0) + 1);
  }
  return [...groups.values()].map(withQuantiles).sort((a, b) => b.count - a.count || compareNames(a, b));
}

const compareNames = (a: AuditSummary, b: AuditSummary): number =>
  a.name.localeCompare(b.name) || a.user.localeCompare(b.user);

function withQuantiles({ row, buckets }: Group): AuditSummary {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return row;
  return { ...row, p50: quantile(sorted, total * 0.5), p95: quantile(sorted, total * 0.95) };
}

function quantile(sorted: readonly [bucket: number, count: number][], rank: number): number {
  let seen = 0;
  for (const [bucket, count] of sorted) {
    seen += count;
    if (seen >= rank) return Number(Math.exp(bucket * STEP).toPrecision(3));
  }
  return 0;
}
