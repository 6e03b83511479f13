import type { Writable } from 'node:stream';
import winston from 'winston';
import type { Log } from '#lib/log/log';

interface LogSettings {
  level: 'error' | 'warn' | 'info' | 'debug';
  format: 'json' | 'text';
}

/** Writes lines to a stream: JSON objects `{time, level, message, …fields}`, or text. Logs the messages of an error and its causes. */
export function createLog({ level, format }: LogSettings, stream: Writable): Log {
  const logger = winston.createLogger({
    level,
    levels: winston.config.npm.levels,
    format: winston.format.printf(format === 'json' ? jsonLine : textLine),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston declares its transports as interfaces
    transports: [new winston.transports.Stream({ stream })],
  });
  const write = (at: LogSettings['level']) => (message: string, fields?: Record<string, unknown>) => {
    if (logger.isLevelEnabled(at)) logger.log({ level: at, message, fields });
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function jsonLine({ level, message, fields }: winston.Logform.TransformableInfo): string {
  return JSON.stringify({ time: new Date().toISOString(), level, message, ...(fields as object | undefined) }, plain);
}

function textLine({ level, message, fields }: winston.Logform.TransformableInfo): string {
  const shown = Object.entries((fields as object | undefined) ?? {}).map(
    ([name, value]) => `${name}=${JSON.stringify(value, plain)}`,
  );
  return [new Date().toISOString(), level.toUpperCase().padEnd(5), message, ...shown].join(' ');
}

/** Converts an error, which JSON does not represent. */
function plain(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { message, cause } = value;
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message;
}
