import { LIST_KINDS, LIST_SPECS } from '#runtime/mcp/aggregate/list-kinds';
import type { Span } from '#runtime/mcp/envelope/scan-envelope';
import type { Log } from '#runtime/telemetry/log';
import type { Noise } from './channel.ts';

const LOGGED_LINES = 200;
const LOGGED_CHARACTERS = 500;
/** The last line alone often does not help: npm ends with the path of its own log. */
const LAST_LINES = 10;

const listMethods: ReadonlySet<string> = new Set(LIST_KINDS.map((kind) => LIST_SPECS[kind].changed));

export const isListChanged = (method: string): boolean => listMethods.has(method);

export interface Stderr {
  readonly take: (line: string) => void;
  readonly lastWords: () => string | undefined;
}

/** Logs at debug level, limits the number and length of lines, and hides secret values. */
export function logStderr(backend: string, secrets: readonly string[], log: Log): Stderr {
  const hidden = secrets.filter((value) => value !== '');
  let left = LOGGED_LINES;
  let last: string[] = [];
  return {
    take(line) {
      // Before the line is cut: half a secret is not recognised.
      const shown = hidden
        .reduce((text, value) => text.replaceAll(value, '[redacted]'), line)
        .slice(0, LOGGED_CHARACTERS);
      if (shown.trim() !== '') last = [...last, shown].slice(-LAST_LINES);
      if (left === 0) return;
      left--;
      log.debug('the process of a backend says', { backend, line: shown });
      if (left === 0) log.debug('the process of a backend says more than is shown', { backend });
    },
    lastWords() {
      const words = last;
      last = [];
      return words.length === 0 ? undefined : words.join('\n');
    },
  };
}

export function addNoise(one: Noise, other: Noise): Noise {
  return {
    garbage: one.garbage + other.garbage,
    stray: one.stray + other.stray,
    oversized: one.oversized + other.oversized,
  };
}

export function stringAt(line: Buffer, span: Span | undefined): string | undefined {
  if (!span) return undefined;
  try {
    // The range was found without parsing.
    const value: unknown = JSON.parse(line.toString('utf8', span.start, span.end));
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
