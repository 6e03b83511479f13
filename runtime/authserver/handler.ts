import type { IncomingHttpHeaders } from 'node:http';

/** What an endpoint gets to know of a request. */
export interface RequestFacts {
  readonly method: string;
  /** As it stands in the request, without the query. */
  readonly path: string;
  /** Values of the pattern's names, e.g. `provider`; decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Of a body `application/x-www-form-urlencoded`; empty where the endpoint takes none. */
  readonly form: URLSearchParams;
  /** Of a body `application/json`: whatever it holds; undefined where the endpoint takes none. */
  readonly json: unknown;
  /** The values of each name, as they stand. */
  readonly cookies: ReadonlyMap<string, readonly string[]>;
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** Address of the client; one from a forwarding header only if a trusted proxy wrote it. */
  readonly remoteAddress: string | undefined;
  /** The address is that of a proxy that is none of `trustedProxies`: many clients may share it. */
  readonly isProxyAddress: boolean;
}

/** What an endpoint answers. `Cache-Control: no-store` stands in each answer that says nothing else. */
export interface Answer {
  readonly status: number;
  /** A list stands for several headers of one name (`Set-Cookie`). */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /** Never sent: the storage's id of the authorization code that the answer hands to a client. */
  readonly code?: string | undefined;
  /** Never sent: the request changed nothing, so a repetition needs no stored answer. */
  readonly changedNothing?: true;
}

/**
 * One endpoint. What it throws becomes the answer in `answer-failure.ts`: OAuthError, PageError, RequestError,
 * StorageUnavailable; anything else is 500.
 */
export type Handler = (facts: RequestFacts) => Promise<Answer>;

type Headers = Answer['headers'];

/** `application/json`; `headers` win. */
export function jsonAnswer(value: unknown, status = 200, headers: Headers = {}): Answer {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** `html` is escaped already. */
export function htmlAnswer(html: string, status = 200, headers: Headers = {}): Answer {
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8', ...headers }, body: html };
}

/** 303, so that a browser that posted a form gets the next place. */
export function redirectAnswer(location: string, headers: Headers = {}): Answer {
  return { status: 303, headers: { Location: location, ...headers }, body: '' };
}
