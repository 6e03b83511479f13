import { z } from 'zod';
import { type Endpoint, errorOfEndpoint } from './upstream-errors.ts';
import { UpstreamUnavailable } from './provider.ts';
import type { UpstreamAnswer } from './upstream-http.ts';

const Document = z.record(z.string(), z.unknown());
export type Document = z.infer<typeof Document>;

/** Visible ASCII, because the token becomes part of a header. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
/** Maximum characters of each kept token or scope. ID tokens with some hundred groups are shorter. */
const MAX_KEPT = 32_768;
/** Seconds. Longer lifetimes count as this one. */
const LONGEST = 10 * 365 * 86_400;

/** Reads JSON, or a form, as GitHub sends by default. @throws UpstreamRefused, UpstreamUnavailable, also for an error with status 200 */
export function readDocument(name: string, endpoint: Endpoint, { status, headers, text }: UpstreamAnswer): Document {
  const document = parseDocument(text, headers['content-type'] ?? '');
  const error = document === undefined ? undefined : errorIn(document);
  if (error !== undefined || status < 200 || status > 299) {
    throw errorOfEndpoint(name, endpoint, { error, status });
  }
  if (document) return document;
  throw new UpstreamUnavailable(`${name}: its ${endpoint} endpoint answered neither JSON nor a form`, {
    answered: true,
  });
}

export function errorIn(document: Document): string | undefined {
  const { error, ok } = document;
  if (typeof error === 'string' && error !== '') return error;
  // Slack: `{"ok": false, "error": …}`. Some other providers send an object as `error`.
  return ok === false || (typeof error === 'object' && error !== null) ? 'error' : undefined;
}

/** Parses an answer. Returns undefined when it is neither JSON nor a form. */
export function parseDocument(text: string, contentType: string): Document | undefined {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'application/x-www-form-urlencoded') return Object.fromEntries(new URLSearchParams(text));
  try {
    return Document.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns a valid access token. @throws UpstreamUnavailable */
export function checkToken(name: string, token: unknown): string {
  if (typeof token === 'string' && TOKEN.test(token)) return token;
  throw new UpstreamUnavailable(`${name}: its answer holds no access token`, { answered: true });
}

/** Returns a refresh or ID token, or undefined when the answer holds none. @throws UpstreamUnavailable when it is too long */
export function keptToken(name: string, token: unknown): string | undefined {
  if (typeof token !== 'string' || token === '') return undefined;
  if (token.length <= MAX_KEPT) return token;
  throw new UpstreamUnavailable(`${name}: its answer holds a token of more than ${MAX_KEPT} characters`, {
    answered: true,
  });
}

/** Returns the granted scopes as one text. Returns undefined when they are missing or too long. */
export function scopeOf(scope: unknown): string | undefined {
  const isList = Array.isArray(scope) && scope.every((one) => typeof one === 'string');
  const text = isList ? scope.join(' ') : scope;
  return typeof text === 'string' && text.length <= MAX_KEPT ? text : undefined;
}

/** Returns the end of a lifetime of `seconds` in milliseconds since the epoch. Undefined when the provider sends none, or 0 for never. */
export function expiryOf(seconds: unknown, now: number): number | undefined {
  const lifetime = typeof seconds === 'string' && seconds !== '' ? Number(seconds) : seconds;
  if (typeof lifetime !== 'number' || !(lifetime > 0)) return undefined;
  return now + Math.min(lifetime, LONGEST) * 1000;
}
