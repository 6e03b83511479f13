import type { IncomingHttpHeaders } from 'node:http';
import { Agent, type buildConnector, type Dispatcher, request } from 'undici';
import { createCheckedProxyDispatcher } from '#lib/connections/checked-proxy';
import { AddressRefused, publicLookup } from '#lib/connections/public-lookup';
import { isProxied, type ProxySettings } from '#lib/connections/proxy';
import { type AddressRules, checkTarget } from './check-target.ts';
import { FetchFailure } from './fetch-failure.ts';

interface HttpClientOptions extends AddressRules {
  proxy: ProxySettings | undefined;
  /** PEM of the certificate authorities that replace the default ones. */
  certificateAuthorities?: string | undefined;
  /** Milliseconds to connect, and between two parts of an answer. Absent: only the signal of a call ends it. */
  patience?: { connect: number; silence: number };
}

interface HttpCall {
  method?: 'GET' | 'HEAD' | 'POST';
  headers?: Record<string, string>;
  body?: string | undefined;
  signal: AbortSignal;
  /** Maximum redirects; 0 by default. */
  redirects?: number;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** URL after redirects. */
  url: URL;
  /** The caller must read it to its end or destroy it. */
  body: Dispatcher.ResponseData['body'];
}

/** HTTP client for user-supplied URLs. It calls allowed addresses only and checks each redirect like the first URL. */
export interface HttpClient {
  /** Returns the answer for every status. @throws FetchFailure */
  call(url: string, call: HttpCall): Promise<HttpAnswer>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT = 5_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Creates a client that connects on first use and keeps connections until `close`. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  let dispatcher: Dispatcher | undefined;
  const once = async (target: URL, { method = 'GET', headers, body, signal }: HttpCall): Promise<HttpAnswer> => {
    try {
      dispatcher ??= openDispatcher(options);
      const sent = { 'user-agent': 'vmcp', ...headers };
      const given = { method, headers: sent, body: body ?? null, signal, dispatcher };
      const silence = options.patience?.silence;
      const limits = silence === undefined ? {} : { headersTimeout: silence, bodyTimeout: silence };
      const answer = await request(target, { ...given, ...limits });
      return { status: answer.statusCode, headers: answer.headers, url: target, body: answer.body };
    } catch (error) {
      throw failureOf(error, target, options.remedy);
    }
  };
  /** Turns `refused` into `unexpected`, as the server chose the target, not the caller. */
  const redirected = async (target: URL, call: HttpCall): Promise<HttpAnswer> => {
    try {
      return await once(await checkTarget(target.href, options), call);
    } catch (error) {
      if (!(error instanceof FetchFailure) || error.kind !== 'refused') throw error;
      throw new FetchFailure('unexpected', `it redirects to where it may not: ${error.message}`, { cause: error });
    }
  };
  return {
    async call(url, call) {
      let target = await checkTarget(url, options);
      let headers = call.headers ?? {};
      let isFirst = true;
      for (let left = call.redirects ?? 0; ; left -= 1) {
        const answer = await (isFirst ? once(target, call) : redirected(target, { ...call, headers }));
        const next = REDIRECTS.has(answer.status) ? locationOf(answer) : undefined;
        if (next === undefined) return answer;
        await answer.body.dump();
        if (left <= 0) throw new FetchFailure('unexpected', `${target.host} redirects too often, or may not redirect`);
        // Another origin must not receive the credentials for the first one.
        if (next.origin !== target.origin) headers = withoutCredentials(headers);
        target = next;
        isFirst = false;
      }
    },
    async close() {
      await dispatcher?.destroy();
    },
  };
}

function openDispatcher({
  allowPrivateAddress,
  proxy,
  certificateAuthorities,
  patience,
}: HttpClientOptions): Dispatcher {
  const connect = {
    timeout: patience?.connect ?? CONNECT_TIMEOUT,
    allowH2: false,
    ...(certificateAuthorities !== undefined && { ca: certificateAuthorities }),
    ...(!allowPrivateAddress && { lookup: publicLookup() }),
  } as buildConnector.BuildOptions;
  return isProxied(proxy) ? createCheckedProxyDispatcher(connect, proxy) : new Agent({ connect, connections: 8 });
}

function locationOf({ headers: { location }, url }: HttpAnswer): URL | undefined {
  return typeof location === 'string' ? (URL.parse(location, url.href) ?? undefined) : undefined;
}

function withoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));
}

/** Converts an error into a FetchFailure by its codes only, as its message may contain request data. */
export function failureOf(error: unknown, target: URL, remedy: string): FetchFailure {
  if (error instanceof FetchFailure) return error;
  const refusal = refusalIn(error);
  if (refusal) return new FetchFailure('refused', `${refusal.message}; ${remedy}`);
  const word = wordOf(error);
  if (/Timeout|Abort|TIMEDOUT|TIMEOUT/.test(word))
    return new FetchFailure('timeout', `${target.host} did not answer in time`, { cause: error });
  return new FetchFailure('unreachable', `${target.host} cannot be reached: ${word}`, { cause: error });
}

function refusalIn(error: unknown): AddressRefused | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth += 1)
    if (cause instanceof AddressRefused) return cause;
  return undefined;
}

function wordOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return [code, name].find((word) => typeof word === 'string') ?? 'unknown error';
}
