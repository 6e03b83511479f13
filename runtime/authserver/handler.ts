import type { IncomingHttpHeaders } from 'node:http';

/** Facts of a request that an endpoint receives. */
export interface RequestFacts {
  readonly method: string;
  /** Raw path of the request, without the query. */
  readonly path: string;
  /** Decoded values of the pattern's names, e.g. `provider`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Fields of an `application/x-www-form-urlencoded` body. Empty where the endpoint takes none. */
  readonly form: URLSearchParams;
  /** Unchecked value of an `application/json` body. Undefined where the endpoint takes none. */
  readonly json: unknown;
  /** Raw values by cookie name. */
  readonly cookies: ReadonlyMap<string, readonly string[]>;
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Address of the client. A forwarding header counts only if a trusted proxy wrote it. */
  readonly remoteAddress: string | undefined;
  /** The address belongs to a proxy outside `trustedProxies`, so many clients may share it. */
  readonly isProxyAddress: boolean;
}

/** Answer of an endpoint. `Cache-Control: no-store` is added unless the answer sets the header. */
export interface Answer {
  readonly status: number;
  /** A list becomes several headers of the same name (`Set-Cookie`). */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /** Never sent: the storage id of the authorization code in the answer. */
  readonly code?: string | undefined;
  /** Never sent: the request changed nothing, so a repetition needs no stored answer. */
  readonly changedNothing?: true;
}

/**
 * Handles the requests of one endpoint. `answer-failure.ts` turns OAuthError, PageError, RequestError and
 * StorageUnavailable into answers; any other error becomes 500.
 */
export type Handler = (facts: RequestFacts) => Promise<Answer>;

type Headers = Answer['headers'];

/** Returns an `application/json` answer. `headers` take precedence. */
export function jsonAnswer(value: unknown, status = 200, headers: Headers = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** Returns an HTML answer. `html` must be escaped already. */
export function htmlAnswer(html: string, status = 200, headers: Headers = {}): Answer {
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8', ...headers }, body: html };
}

/** Returns a 303 redirect, so that a browser that posted a form follows it with GET. */
export function redirectAnswer(location: string, headers: Headers = {}): Answer {
  return { status: 303, headers: { Location: location, ...headers }, body: '' };
}
