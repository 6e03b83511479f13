import { type Dispatcher, request } from 'undici';
import { ApiError } from './api-error.ts';

export interface Exchange {
  /** As it is counted: list, watch, get, apply, patch, create, update, delete. */
  verb: string;
  /** Plural name of the resource, or a path. */
  resource: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | undefined>;
  accept?: string;
  body?: unknown;
  contentType?: string;
}

export interface Deadlines {
  /** Milliseconds until the call is given up; 30 s without. */
  deadline?: number;
  /** Milliseconds without a byte after which a body is given up. With it, the deadline is for the first byte only. */
  silence?: number;
  signal?: AbortSignal | undefined;
}

export const DEADLINE = 30_000;

/** Sends one request. Rejects when it could not be sent, or not in time; a status that refuses is an answer. */
export async function exchange(
  server: string,
  { method, path, query = {}, accept = 'application/json', body, contentType = 'application/json' }: Exchange,
  access: { headers: Record<string, string>; dispatcher: Dispatcher },
  { deadline = DEADLINE, silence, signal }: Deadlines,
): Promise<Dispatcher.ResponseData> {
  const limit = silence === undefined ? [AbortSignal.timeout(deadline)] : [];
  return request(`${server}${path}${searchOf(query)}`, {
    dispatcher: access.dispatcher,
    method,
    headers: {
      ...access.headers,
      'user-agent': 'vmcp-operator',
      accept,
      ...(body !== undefined && { 'content-type': contentType }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    headersTimeout: deadline,
    bodyTimeout: silence ?? deadline,
    signal: AbortSignal.any(signal === undefined ? limit : [...limit, signal]),
  });
}

function searchOf(query: Record<string, string | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
  return search.size === 0 ? '' : `?${search.toString()}`;
}

/** What was tried, for messages. */
export function describe({ verb, path }: Exchange): string {
  return `${verb} ${path}`;
}

/** The error of a request that got no answer, or not all of it. */
export function unanswered(wanted: Exchange, cause: unknown): ApiError {
  // By its text: an abort's reason is no instance of Error everywhere.
  const said = String(cause);
  const late = /timeout|timed out/i.test(said);
  return new ApiError(`${describe(wanted)}: ${said.replace(/^Error: /, '')}`, {
    status: 0,
    reason: cause instanceof SyntaxError ? 'InvalidAnswer' : late ? 'Timeout' : 'Unreachable',
    cause,
  });
}

/** Whether a body ended because nothing came for too long. */
export function isSilence(problem: unknown): boolean {
  return problem instanceof Error && 'code' in problem && problem.code === 'UND_ERR_BODY_TIMEOUT';
}
