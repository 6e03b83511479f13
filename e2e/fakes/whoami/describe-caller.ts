import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A backend's view of a request. Claims are read, not verified; secrets show only as short hashes. */
export interface Caller {
  subject: string | null;
  audience: string[];
  scopes: string[];
  issuer: string | null;
  groups: string[];
  /** First 16 hex digits of the SHA-256 of the bearer token. */
  tokenHash: string | null;
  /** Names of all headers of the request, sorted. */
  headerNames: string[];
  /** First 16 hex digits of the SHA-256 of each header that is not part of HTTP or MCP. */
  headerHashes: Record<string, string>;
}

const ORDINARY =
  /^(accept|accept-.*|authorization|cache-control|connection|content-.*|cookie|host|keep-alive|mcp-.*|transfer-encoding|user-agent|sec-.*|last-event-id|traceparent|tracestate|baggage)$/;

/** Returns the first 16 hex digits of a SHA-256, as in a Caller. */
export const shortHash = (value: string): string => createHash('sha256').update(value).digest('hex').slice(0, 16);

function readClaims(token: string): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const strings = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((entry): entry is string => typeof entry === 'string');

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Describes the request that carried these headers. */
export function describeCaller(headers: IncomingHttpHeaders): Caller {
  const token = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  const claims = token === undefined ? {} : readClaims(token);
  const unusual = Object.entries(headers).filter(([name]) => !ORDINARY.test(name));
  return {
    subject: text(claims.sub),
    audience: strings(claims.aud),
    scopes: (text(claims.scope) ?? '').split(' ').filter((scope) => scope !== ''),
    issuer: text(claims.iss),
    groups: strings(claims.groups),
    tokenHash: token === undefined ? null : shortHash(token),
    headerNames: Object.keys(headers).sort(),
    headerHashes: Object.fromEntries(unusual.map(([name, value]) => [name, shortHash(String(value))])),
  };
}
