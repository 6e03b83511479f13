import { z } from 'zod';
import { type Endpoint, errorOfEndpoint } from './upstream-errors.ts';
import { UpstreamUnavailable } from './provider.ts';
import type { UpstreamAnswer } from './upstream-http.ts';

const Document = z.record(z.string(), z.unknown());
export type Document = z.infer<typeof Document>;

/** Visible ASCII: it becomes part of a header. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
/** Of what is kept for each user beside the access token. ID tokens with some hundred groups stay below it. */
const MAX_KEPT = 32_768;
/** Longer lifetimes are as good as none. */
const LONGEST = 10 * 365 * 86_400;

/**
 * The document in an answer of a token or user-info endpoint: JSON, or a form, as GitHub sends to who asks for no JSON.
 * @throws UpstreamRefused, UpstreamUnavailable: also where an error stands in an answer with status 200
 */
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

/** The word of the error in a document; undefined: it is none. */
export function errorIn(document: Document): string | undefined {
  const { error, ok } = document;
  if (typeof error === 'string' && error !== '') return error;
  // Slack: `{"ok": false, "error": …}`; some others put an object there.
  return ok === false || (typeof error === 'object' && error !== null) ? 'error' : undefined;
}

/** What stands in an answer; undefined: neither JSON nor a form. */
export function parseDocument(text: string, contentType: string): Document | undefined {
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'application/x-www-form-urlencoded') return Object.fromEntries(new URLSearchParams(text));
  try {
    return Document.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** @throws UpstreamUnavailable */
export function checkToken(name: string, token: unknown): string {
  if (typeof token === 'string' && TOKEN.test(token)) return token;
  throw new UpstreamUnavailable(`${name}: its answer holds no access token`, { answered: true });
}

/**
 * A refresh token or an ID token; undefined: the answer holds none.
 * @throws UpstreamUnavailable where it is too long to be kept
 */
export function keptToken(name: string, token: unknown): string | undefined {
  if (typeof token !== 'string' || token === '') return undefined;
  if (token.length <= MAX_KEPT) return token;
  throw new UpstreamUnavailable(`${name}: its answer holds a token of more than ${MAX_KEPT} characters`, {
    answered: true,
  });
}

/** What was granted, as one text; undefined: the answer does not say it, or says too much to be kept. */
export function scopeOf(scope: unknown): string | undefined {
  const isList = Array.isArray(scope) && scope.every((one) => typeof one === 'string');
  const text = isList ? scope.join(' ') : scope;
  return typeof text === 'string' && text.length <= MAX_KEPT ? text : undefined;
}

/** Milliseconds since the epoch of an end that lies `seconds` ahead; undefined: the provider does not say, or says 0 for never. */
export function expiryOf(seconds: unknown, now: number): number | undefined {
  const lifetime = typeof seconds === 'string' && seconds !== '' ? Number(seconds) : seconds;
  if (typeof lifetime !== 'number' || !(lifetime > 0)) return undefined;
  return now + Math.min(lifetime, LONGEST) * 1000;
}
