import { BASE } from '#management/base';
import type { Operation } from '#management/operation';
import { ProblemBody } from '#management/problem';
import { codeOf } from '#lib/files/write-file';
import { parseJson } from '#lib/json/parse-json';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { type ManagementApi, readResult } from './management-api.ts';
import { Refusal } from './refusal.ts';

interface HttpApiOptions {
  /** URL without the base path. */
  address: string;
  token: string;
  namespace: string | undefined;
  place: string;
  /** Milliseconds until an answer, or until the start of a stream. Longer than the server's own limit. */
  deadline?: number;
  stop: AbortSignal;
}

interface Asked {
  params?: unknown;
  query?: unknown;
  body?: unknown;
  ifMatch?: string | undefined;
}

const DEADLINE = 70_000;
/** Characters of an answer that is not from vmcp. */
const SHOWN = 200;

export function httpApi(options: HttpApiOptions): ManagementApi {
  const { place, deadline = DEADLINE } = options;
  return {
    place,
    running: true,
    async call(operation, ask = {}) {
      const late = AbortSignal.timeout(deadline);
      const { text, etag } = await answered(options, late, async () => {
        const response = await send(operation, ask, options, late);
        return { text: await response.text(), etag: response.headers.get('etag') };
      });
      return {
        body: readResult(operation.result, text === '' ? undefined : parseJson(text)),
        etag: etag?.replaceAll('"', ''),
      };
    },
    async *read(operation, ask = {}) {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), deadline);
      const begun = answered(options, late.signal, () => send(operation, ask, options, late.signal));
      const { body } = await begun.finally(() => clearTimeout(timer));
      const decoder = new TextDecoder();
      for await (const piece of body ?? []) yield decoder.decode(piece as Uint8Array, { stream: true });
      yield decoder.decode();
    },
    close: () => Promise.resolve(),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function renderPath({ path }: Pick<Operation, 'path'>, { params, query }: Asked, namespace?: string): string {
  const values = new Map<string, unknown>(Object.entries(params ?? {}));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(textOf(values.get(name))));
  const wanted: [string, unknown][] = [...Object.entries(query ?? {}), ['namespace', namespace]];
  const given = wanted.flatMap(([key, value]): [string, string][] =>
    value === undefined ? [] : [[key, textOf(value)]],
  );
  const search = new URLSearchParams(given).toString();
  return `${BASE}${filled}${search === '' ? '' : `?${search}`}`;
}

async function send(
  operation: Operation,
  ask: Asked,
  { address, token, namespace, stop }: HttpApiOptions,
  late: AbortSignal,
): Promise<Response> {
  const { body, ifMatch } = ask;
  const response = await fetch(
    address + renderPath(operation, ask, operation.namespaced === false ? undefined : namespace),
    {
      method: operation.method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([late, stop]),
      redirect: 'error',
    },
  );
  if (response.ok) return response;
  throw refusalOf(response.status, await response.text());
}

function refusalOf(status: number, text: string): CliError {
  const problem = ProblemBody.safeParse(parseJson(text)).data;
  if (problem) return new Refusal(problem);
  return new CliError(EXIT_CODES.failed, `the management API answered ${status}: ${text.slice(0, SHOWN)}`);
}

async function answered<T>(
  { address, deadline = DEADLINE, stop }: HttpApiOptions,
  late: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    if (stop.aborted) throw new CliError(EXIT_CODES.failed, 'stopped', { cause });
    if (late.aborted)
      throw new CliError(EXIT_CODES.failed, `${address} did not answer within ${deadline / 1000} s`, { cause });
    const why = codeOf(innerOf(cause)) ?? 'no answer';
    throw new CliError(EXIT_CODES.notRunning, `the management API at ${address} does not answer (${why})`, { cause });
  }
}

/** fetch puts the system error one level below. */
const innerOf = (problem: unknown): unknown =>
  typeof problem === 'object' && problem !== null && 'cause' in problem ? problem.cause : undefined;
