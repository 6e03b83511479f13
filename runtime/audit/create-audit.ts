import type { Writable } from 'node:stream';
import type { AuditConfig, AuditEventType } from '#crds/parts/audit';
import type { Log } from '#runtime/telemetry/log';
import type { Audit } from './audit.ts';
import { type AuditCounts, BatchWriter } from './batch-writer.ts';
import { createQuote } from './quote.ts';
import { renderEvent } from './render-event.ts';
import { fileSink, streamSink } from './sinks.ts';

export interface AuditDeps {
  readonly component: string;
  /** Receives the lines if no `logFile` is configured. main.ts passes standard output. */
  readonly stream: Writable;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly counts: AuditCounts;
  /** Limit of buffered bytes. */
  readonly maxBytes?: number;
}

const DISABLED: Audit = {
  wants: () => false,
  wantsRequest: false,
  wantsResponse: false,
  record: () => undefined,
  reopen: () => undefined,
  close: () => Promise.resolve(),
};

/** Returns the audit stream of a configuration. @throws ConfigError if the log file cannot be opened */
export function createAudit(config: AuditConfig, deps: AuditDeps): Audit {
  if (!config.enabled) return DISABLED;
  const { log, counts, now, stream } = deps;
  const sink = config.logFile === undefined ? streamSink(stream) : fileSink(config.logFile, now);
  const bound = deps.maxBytes === undefined ? {} : { maxBytes: deps.maxBytes };
  const writer = new BatchWriter({ sink, log, counts, ...bound });
  const wants = eventFilter(config);
  const timestamp = timestamps(now);
  const options = {
    component: config.component ?? deps.component,
    includeRequestData: config.includeRequestData,
    includeResponseData: config.includeResponseData,
    maxDataSize: config.maxDataSize,
    quote: createQuote(),
  };
  return {
    wants,
    wantsRequest: config.includeRequestData,
    wantsResponse: config.includeResponseData,
    record(event) {
      if (!wants(event.type)) return;
      try {
        writer.add(renderEvent(event, timestamp(), options));
      } catch (error) {
        log.error('audit event cannot be written', { type: event.type, error });
        writer.drop(1);
      }
    },
    reopen: () => writer.reopen(),
    close: (deadline) => writer.close(deadline),
  };
}

function eventFilter({ eventTypes, excludeEventTypes = [] }: AuditConfig): (type: AuditEventType) => boolean {
  const only = eventTypes === undefined ? undefined : new Set(eventTypes);
  const never = new Set(excludeEventTypes);
  return (type) => (only?.has(type) ?? true) && !never.has(type);
}

/** Returns the present millisecond as RFC 3339 text, computed once per millisecond. */
function timestamps(now: () => number): () => string {
  let at = NaN;
  let text = '';
  return () => {
    const time = now();
    if (time !== at) {
      at = time;
      text = new Date(time).toISOString();
    }
    return text;
  };
}
