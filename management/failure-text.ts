import type { IncomingMessage } from 'node:http';
import type { Problem } from './problem.ts';

/** What the log says of a request that failed inside. The query is left out. */
export function failureText({ method, url }: IncomingMessage, { code, message, cause }: Problem): string {
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  return `${method ?? ''} ${url?.split('?')[0] ?? ''}: ${code}: ${message}${why}`;
}
