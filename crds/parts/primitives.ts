import { z } from 'zod';
import { withRules } from './rule.ts';

/** One duration: one or more numbers with a unit (`1h30m`, `1.5h`). Units: ms, s, m, h, d. */
const DURATION = /^([0-9]{1,9}([.][0-9]{1,9})?(ms|s|m|h|d)){1,8}$/;
const MILLISECONDS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the milliseconds of a duration string such as `30s` or `1h30m`, which must match the pattern. */
export function millisecondsOf(duration: string): number {
  let total = 0;
  for (const [, digits, unit] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(digits) * (MILLISECONDS[unit ?? ''] ?? 0);
  }
  return Math.round(total);
}

export const Duration = z
  .string()
  .max(32)
  .regex(DURATION, 'not a duration; write digits and a unit, for example 30s, 5m, 1h30m or 7d');

/** A duration string as input, milliseconds as output; `z.encode` writes the string again. */
export const Milliseconds = z.codec(Duration, z.number(), {
  decode: millisecondsOf,
  encode: (milliseconds) => `${milliseconds}ms`,
});

export const text = (max: number) => z.string().min(1).max(max);

/** The pattern also accepts invalid hosts and ports, such as port 99999. */
const isUrl = (text: string) => URL.canParse(text);

const NOT_HTTP_URL =
  'not an absolute http or https URL without user name and password; write for example https://host.example/path';

/** An http(s) URL without user name and password: secrets are references. */
export const HttpUrl = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s/?#@\\]+([/?#][^\s\\]*)?$/, { error: NOT_HTTP_URL, abort: true })
  .refine(isUrl, NOT_HTTP_URL);

const NOT_IDENTIFIER =
  'not an absolute http or https URL without user name, query and fragment; write for example https://host.example/path';

/** Identifier of an issuer or of a resource (RFC 8414 §2, RFC 9728 §3): a URL without query and fragment. */
export const IdentifierUrl = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s/?#@\\]+(\/[^\s?#\\]*)?$/, { error: NOT_IDENTIFIER, abort: true })
  .refine(isUrl, NOT_IDENTIFIER);

/** RFC 1123 label. */
export const DnsLabel = z
  .string()
  .max(63)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'not a DNS label; write lower-case letters, digits and hyphens, at most 63, the first and last no hyphen',
  );

/** Name of a referenced object in the same namespace. Other namespaces cannot be named. */
export const ObjectName = z
  .string()
  .max(253)
  .regex(
    /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/,
    'not the name of an object; write lower-case letters, digits, hyphens and dots',
  );

/** RFC 9110 §5.6.2. */
export const HeaderName = z
  .string()
  .max(256)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'not a header name; write a name such as X-Api-Key');

/** Headers that frame, route or version a message: another value would break or redirect it. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export const AddedHeaderName = HeaderName.refine(
  (name) => !RESERVED_HEADERS.has(name.toLowerCase()),
  'a header of the protocol; write another name, such as X-Api-Key',
);

/** RFC 9110 §5.5 without line breaks. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export const EnvName = z
  .string()
  .max(256)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable; write letters, digits and underscores')
  // Objects used as maps ignore this key.
  .refine((name) => name !== '__proto__', 'not a name that a variable can have; write another one');

/** `host[:port]`, or `*.` and a suffix. */
export const HostPattern = z
  .string()
  .max(260)
  .regex(
    /^(\*\.)?([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$/,
    'not a host; write host, host:port or *.suffix',
  );

const RANGE = 'not an address range; write for example 10.0.0.0/8';
const IPV4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** Returns whether a text is an IP address, optionally with a prefix length valid for its family (RFC 4632, RFC 4291). */
export function isAddressRange(text: string): boolean {
  const [, address = '', bits] = /^([0-9A-Fa-f:.]{2,45})(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (IPV4.test(address)) return Number(bits ?? 0) <= 32;
  return address.includes(':') && URL.canParse(`http://[${address}]/`) && Number(bits ?? 0) <= 128;
}

export const Cidr = z
  .string()
  .max(64)
  .regex(/^[0-9A-Fa-f:.]+\/[0-9]{1,3}$/, { error: RANGE, abort: true })
  .refine(isAddressRange, RANGE);

export const Port = z.int().min(1).max(65_535);
const Scope = text(256).regex(/^[!#-[\]-~]+$/, 'not a scope; write it without spaces, quotes and backslashes');
export const Scopes = z.array(Scope).max(64);
export const ToolName = text(256);

/** Returns whether a secret has no character besides blanks: the plan and the runtime count it as empty. */
export const isBlank = (secret: string): boolean => secret.trim() === '';

/** Returns the schema of a duration with inclusive bounds. CEL knows no days, so only the refinement measures a duration with `d`. */
export function durationBetween(least: string, most: string) {
  return withRules(Duration, {
    at: [],
    message: `out of range; write a duration from ${least} to ${most}`,
    // For a text that is no duration, only its form is reported.
    holds: (value) =>
      !Duration.safeParse(value).success ||
      (millisecondsOf(value) >= millisecondsOf(least) && millisecondsOf(value) <= millisecondsOf(most)),
    cel: `self.contains('d') || (duration(self) >= duration('${least}') && duration(self) <= duration('${inHours(most)}'))`,
  });
}

export const Deadline = durationBetween('1ms', '24h');

function inHours(duration: string): string {
  return duration.replace(/(\d+)d/g, (_, days: string) => `${Number(days) * 24}h`);
}
