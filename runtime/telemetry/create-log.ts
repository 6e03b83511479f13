import type { Writable } from 'node:stream';
import winston from 'winston';
import { loggable } from './loggable.ts';
import type { Log } from './log.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface ProcessLog extends Log {
  setLevel(level: LogLevel): void;
}

/** Writes JSON lines `{time, level, message, …fields}`; main.ts passes standard error. Redacts secrets, also in errors and their causes. */
export function createLog(level: LogLevel, stream: Writable): ProcessLog {
  const logger = winston.createLogger({
    level,
    levels: winston.config.npm.levels,
    format: winston.format.printf(line),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston declares its transports as interfaces
    transports: [new winston.transports.Stream({ stream })],
  });
  const write = (at: LogLevel) => (message: string, fields?: Record<string, unknown>) => {
    if (logger.isLevelEnabled(at)) logger.log({ level: at, message, fields });
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    setLevel(wanted) {
      logger.level = wanted;
    },
  };
}

function line({ level, message, fields }: winston.Logform.TransformableInfo): string {
  const shown: unknown = loggable(fields);
  const begin = { time: new Date().toISOString(), level, message: loggable(message) };
  return JSON.stringify(typeof shown === 'object' ? { ...begin, ...shown } : begin);
}
