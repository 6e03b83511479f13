import type { IncomingMessage } from 'node:http';
import type { Problem } from './problem.ts';

/** Omits the query of the request. */
export function failureText({ method, url }: IncomingMessage, { code, message, cause }: Problem): string {
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  return `${method ?? ''} ${url?.split('?')[0] ?? ''}: ${code}: ${message}${why}`;
}
