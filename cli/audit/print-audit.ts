import type { AuditLine } from '#crds/parts/audit-line';
import type { Output } from '../context.ts';
import { printTable } from '../print-records.ts';
import { shownLine } from '../shown-output.ts';
import type { AuditSummary } from './summarise-lines.ts';

const COLUMNS = { TIME: 20, USER: 24, CALL: 16, TARGET: 32, BACKEND: 16, OUTCOME: 10, MS: 8, WHY: 0 };

const widths = Object.values(COLUMNS);

/** Columns have fixed widths, because lines are printed as they are read. */
export const auditHead = (): string => rowOf(Object.keys(COLUMNS));

export function auditRow(line: AuditLine): string {
  const { subjects, target, metadata, data } = line;
  const why = [data?.code, ...(data?.policies ?? []).map(({ id }) => id)].filter((word) => word !== undefined);
  return rowOf([
    line.logged_at.replace(/\.\d+Z$/, 'Z'),
    subjects.user ?? subjects.user_id ?? '',
    target.method ?? line.type,
    target.name ?? '',
    target.backend ?? '',
    line.outcome,
    metadata.duration_ms === undefined ? '' : String(Math.round(metadata.duration_ms)),
    why.join(', '),
  ]);
}

function rowOf(cells: readonly string[]): string {
  const padded = cells.map((cell, index) => (shownLine(cell) || '-').padEnd(widths[index] ?? 0));
  return `${padded.join('  ').trimEnd()}\n`;
}

export function printSummary(rows: readonly AuditSummary[], out: Output): void {
  const cells = rows.map(({ user, name, backend, outcome, count, p50, p95 }) =>
    [user, name, backend, outcome, String(count), shownMs(p50), shownMs(p95)].map((cell) => shownLine(cell) || '-'),
  );
  out.write(
    `${printTable([['USER', 'TARGET', 'BACKEND', 'OUTCOME', 'COUNT', 'P50 MS', 'P95 MS'], ...cells]).join('\n')}\n`,
  );
}

const shownMs = (duration: number | undefined): string => (duration === undefined ? '' : String(duration));
