import { type Dispatcher, request } from 'undici';
import { ApiError } from './api-error.ts';

export interface Exchange {
  /** The verb in metrics: list, watch, get, apply, patch, create, update, delete. */
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
  /** Milliseconds until the call fails. Default: 30 s. */
  deadline?: number;
  /** Milliseconds without a byte after which a body fails. If set, the deadline covers only the first byte. */
  silence?: number;
  signal?: AbortSignal | undefined;
}

export const DEADLINE = 30_000;

/** Sends one request. Rejects if it cannot be sent or times out. A refusing status is an answer. */
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

export function describe({ verb, path }: Exchange): string {
  return `${verb} ${path}`;
}

/** Returns the error of a request without an answer, or with a partial one. */
export function unanswered(wanted: Exchange, cause: unknown): ApiError {
  // Compares the text: an abort's reason is not an instance of Error in every realm.
  const said = String(cause);
  const late = /timeout|timed out/i.test(said);
  return new ApiError(`${describe(wanted)}: ${said.replace(/^Error: /, '')}`, {
    status: 0,
    reason: cause instanceof SyntaxError ? 'InvalidAnswer' : late ? 'Timeout' : 'Unreachable',
    cause,
  });
}

export function isSilence(problem: unknown): boolean {
  return problem instanceof Error && 'code' in problem && problem.code === 'UND_ERR_BODY_TIMEOUT';
}
