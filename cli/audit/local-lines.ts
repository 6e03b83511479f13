import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditLine } from '#crds/parts/audit-line';
import type { StateFolder } from '#local/state-folder';
import { type AuditLog, changedAt, findAuditLogs } from './audit-files.ts';
import { readAuditLine } from './audit-line-filter.ts';
import { mergeByTime } from './merge-by-time.ts';
import { AppendedFile, readRotated } from './read-log-lines.ts';
import type { AuditSource } from './audit-source.ts';

/** Milliseconds. */
const LOOK = 300;

/** Reads the audit logs of a machine, rotated files included. */
export function localSource(state: StateFolder): AuditSource {
  const known = new Map<string, AppendedFile>();
  const fileOf = (path: string): AppendedFile => {
    const file = known.get(path) ?? new AppendedFile(path);
    known.set(path, file);
    return file;
  };
  return {
    past: (since) =>
      mergeByTime(findAuditLogs(state).map((log) => auditLines(linesSince(log, since, fileOf(log.path))))),
    async *following(signal) {
      while (!signal.aborted) {
        await sleep(LOOK, undefined, { signal }).catch(() => undefined);
        yield* mergeByTime(findAuditLogs(state).map(({ path }) => auditLines(fileOf(path).next())));
      }
    },
  };
}

async function* linesSince(
  { rotated }: AuditLog,
  since: number,
  file: AppendedFile,
): AsyncGenerator<string, void, void> {
  for (const path of rotated) if (changedAt(path) >= since) yield* readRotated(path);
  yield* file.next();
}

/** Yields the audit lines among the lines of a log. */
export async function* auditLines(lines: AsyncIterable<string>): AsyncGenerator<AuditLine, void, void> {
  for await (const text of lines) {
    const line = readAuditLine(text);
    if (line) yield line;
  }
}
