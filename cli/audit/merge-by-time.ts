import type { AuditLine } from '#crds/parts/audit-line';

export type AuditLines = AsyncIterable<AuditLine>;

/** Merges sources that are each in order of time. It holds one line of each source. */
export async function* mergeByTime(sources: readonly AuditLines[]): AsyncGenerator<AuditLine, void, void> {
  const readers = sources.map((source) => source[Symbol.asyncIterator]());
  const heads = await Promise.all(readers.map((reader) => reader.next()));
  try {
    for (;;) {
      const first = earliest(heads);
      const head = heads[first];
      const reader = readers[first];
      if (head === undefined || reader === undefined || head.done === true) return;
      yield head.value;
      heads[first] = await reader.next();
    }
  } finally {
    for (const reader of readers) await reader.return?.();
  }
}

/** Returns the index of the source whose next line is the earliest; -1 at the end. */
function earliest(heads: readonly IteratorResult<AuditLine, unknown>[]): number {
  let found = -1;
  let at = '';
  for (const [index, head] of heads.entries()) {
    if (head.done === true || (found !== -1 && head.value.logged_at >= at)) continue;
    [found, at] = [index, head.value.logged_at];
  }
  return found;
}
