import type { AuditLine } from '#crds/parts/audit-line';
import type { Context } from '../context.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { isCluster, type ServerOptions } from '../management/target.ts';
import { type AuditFilter, matches } from './audit-line-filter.ts';
import type { AuditSource } from './audit-source.ts';
import { localSource } from './local-lines.ts';
import { auditHead, auditRow, printSummary } from './print-audit.ts';
import { summariseLines } from './summarise-lines.ts';

export interface AuditOptions extends ServerOptions, AuditFilter {
  /** Milliseconds before now. */
  since: number;
  follow: boolean;
  summary: boolean;
  output: 'table' | 'json';
}

/** Prints the audit lines of what runs here, or of the runtime pods of a namespace. @throws CliError */
export async function audit(options: AuditOptions, context: Context, stop: AbortSignal): Promise<number> {
  const show = (source: AuditSource) => showLines(source, options, context, stop);
  if (!isCluster(options)) return show(localSource(context.state));
  const { withPods } = await import('./pod-lines.ts');
  return withPods(options, stop, show);
}

async function showLines(
  source: AuditSource,
  options: AuditOptions,
  { out, err }: Context,
  stop: AbortSignal,
): Promise<number> {
  const since = Date.now() - options.since;
  const chosen = (lines: AsyncIterable<AuditLine>) => filterLines(lines, since, options);
  if (options.summary) {
    const rows = await summariseLines(chosen(source.past(since)));
    if (options.output === 'json') out.write(`${JSON.stringify(rows, undefined, 2)}\n`);
    else printSummary(rows, out);
    return EXIT_CODES.ok;
  }
  const print = printer(options.output, out);
  let printed = 0;
  for await (const line of chosen(source.past(since))) {
    print(line);
    printed += 1;
  }
  if (options.follow && !stop.aborted) for await (const line of chosen(source.following(stop))) print(line);
  else if (printed === 0) err.write('no audit line matches: lines are written where audit.enabled is true\n');
  return EXIT_CODES.ok;
}

async function* filterLines(
  lines: AsyncIterable<AuditLine>,
  since: number,
  filter: AuditFilter,
): AsyncGenerator<AuditLine, void, void> {
  for await (const line of lines) if (matches(line, since, filter)) yield line;
}

function printer(format: AuditOptions['output'], out: Context['out']): (line: AuditLine) => void {
  if (format === 'json') return (line) => out.write(`${JSON.stringify(line)}\n`);
  let isFirst = true;
  return (line) => {
    if (isFirst) out.write(auditHead());
    isFirst = false;
    out.write(auditRow(line));
  };
}
