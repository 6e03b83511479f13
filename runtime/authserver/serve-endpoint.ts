import type { IncomingMessage, ServerResponse } from 'node:http';
import { isProxyAddress } from '#runtime/http/is-proxy-address';
import { readBody } from '#runtime/http/read-body';
import type { ReadSource } from '#runtime/http/read-source';
import { answerFailure, type FailureSettings } from './answer-failure.ts';
import { OAuthError } from './errors.ts';
import type { Answer, Handler } from './handler.ts';
import { readCookies } from './read-cookies.ts';

export interface Endpoint {
  readonly method: 'GET' | 'POST';
  /** Express pattern. */
  readonly path: string;
  readonly handle: Handler | undefined;
  readonly kind: 'json' | 'page';
  readonly body?: 'form' | 'json';
  /** Scripts of every web page may call the endpoint, because it ignores cookies. */
  readonly cors?: true;
}

export interface ServeSettings extends Omit<FailureSettings, 'kind'> {
  readonly readSource: ReadSource;
  readonly answered: (endpoint: string, status: number) => void;
}

/** Maximum body size in bytes. A registration with ten long redirect URIs fits. */
const MAX_BODY = 65_536;
const TYPES = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const;
const NOTHING = new URLSearchParams();

export async function serveEndpoint(
  { path: pattern, handle, kind, body, cors }: Endpoint & { readonly handle: Handler },
  req: IncomingMessage,
  res: ServerResponse,
  params: Readonly<Record<string, string>>,
  settings: ServeSettings,
): Promise<void> {
  const [path, query] = splitOnce(req.url ?? '/', '?');
  const { headers } = req;
  const method = req.method ?? 'GET';
  let answer: Answer;
  try {
    const remoteAddress = settings.readSource(req);
    const text = body === undefined || method !== 'POST' ? undefined : await readText(req, TYPES[body]);
    answer = await handle({
      method,
      path,
      params,
      query: query === undefined ? NOTHING : new URLSearchParams(query),
      form: body === 'form' && text !== undefined ? new URLSearchParams(text) : NOTHING,
      json: body === 'json' && text !== undefined ? parseJson(text) : undefined,
      cookies: readCookies(headers.cookie),
      headers,
      remoteAddress,
      isProxyAddress: isProxyAddress(req, remoteAddress),
    });
  } catch (error) {
    answer = answerFailure(error, { path, headers }, { ...settings, kind });
  }
  settings.answered(pattern, answer.status);
  writeAnswer(res, answer, cors === true);
}

export function writeAnswer(res: ServerResponse, { status, headers, body }: Answer, cors: boolean): void {
  if (res.headersSent || res.destroyed) return;
  const all: Record<string, string | number | readonly string[]> = { 'Cache-Control': 'no-store', ...headers };
  all['Content-Length'] = Buffer.byteLength(body);
  if (cors) all['Access-Control-Allow-Origin'] = '*';
  res.writeHead(status, all as Record<string, string | number | string[]>).end(body);
}

/** Answers a CORS preflight request (Fetch §3.2.2). */
export function answerPreflight(res: ServerResponse, methods: readonly string[]): void {
  res
    .writeHead(204, {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Methods': methods.join(', '),
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
      'Access-Control-Max-Age': '600',
    })
    .end();
}

async function readText(req: IncomingMessage, type: string): Promise<string> {
  const given = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (given !== type) throw new OAuthError('invalid_request', `The Content-Type must be ${type}`);
  return (await readBody(req, MAX_BODY)).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new OAuthError('invalid_request', 'The body is no JSON document', { cause });
  }
}

function splitOnce(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}
