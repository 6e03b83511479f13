import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

export interface ServerOptions {
  transport: 'http' | 'sse' | 'stdio';
  /** 0 takes a free port. */
  port: number;
  /** Answers with JSON instead of an event stream. */
  json: boolean;
  /** Stores events, so that each stream begins with a priming event and can be resumed. */
  eventStore: boolean;
  /** Milliseconds between the SDK's `: keepalive` comments; undefined keeps the SDK's default. */
  keepAliveMs: number | undefined;
  /** Refuses the revisions with sessions. */
  modernOnly: boolean;
  /** The server writes its process id there when it serves; a stdio server cannot report it in another way. */
  pidFile: string | undefined;
}

/** Reads the arguments of a server program. */
export function readServerOptions(): ServerOptions {
  const { values } = parseArgs({
    options: {
      transport: { type: 'string', default: 'http' },
      port: { type: 'string', default: '0' },
      json: { type: 'boolean', default: false },
      'event-store': { type: 'boolean', default: false },
      'keepalive-ms': { type: 'string' },
      'modern-only': { type: 'boolean', default: false },
      'pid-file': { type: 'string' },
    },
  });
  const { transport, 'keepalive-ms': keepAliveMs } = values;
  if (transport !== 'http' && transport !== 'sse' && transport !== 'stdio')
    throw new Error(`no transport ${transport}`);
  return {
    transport,
    port: Number(values.port),
    json: values.json,
    eventStore: values['event-store'],
    keepAliveMs: keepAliveMs === undefined ? undefined : Number(keepAliveMs),
    modernOnly: values['modern-only'],
    pidFile: values['pid-file'],
  };
}

/** Writes the line that startSdkServer waits for. */
export function reportUrl(port: number): void {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}/mcp`, port }));
}

/** Writes the process id when a stdio server serves. */
export function writePid({ pidFile }: ServerOptions): void {
  if (pidFile !== undefined) writeFileSync(pidFile, String(process.pid));
}
