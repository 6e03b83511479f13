import { HEADER_VALUE, isBlank } from '#crds/parts/primitives';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import type { Credential, CredentialHeaders } from './credential.ts';

const NONE: CredentialHeaders = Object.freeze([]);

/** Sends no credential, and never the client's own. */
export const unauthenticated: Credential = {
  authType: 'unauthenticated',
  perUser: false,
  headersFor: () => NONE,
  invalidate: () => false,
  close: () => undefined,
};

interface HeaderSource {
  readonly authType: string;
  readonly name: string;
  readonly file: string;
  readonly prefix: string;
}

interface HeaderDeps {
  readonly backend: string;
  readonly readSecret: (file: string) => string;
  readonly log: Log;
}

/** One header from a file, which it follows. An invalid value never replaces a valid one. @throws ConfigError for an invalid first value */
export function headerValue(source: HeaderSource, { backend, readSecret, log }: HeaderDeps): Credential {
  const name = source.name.toLowerCase();
  let seen = checkHeaderValue(readSecret(source.file), source.file, backend);
  let headers: CredentialHeaders = Object.freeze([name, source.prefix + seen]);

  function renew(value: string): CredentialHeaders {
    seen = value;
    if (isHeaderValue(value)) headers = Object.freeze([name, source.prefix + value]);
    else log.warn('secret file holds no usable header value; the one before stays', { backend, file: source.file });
    return headers;
  }

  return {
    authType: source.authType,
    perUser: false,
    headersFor() {
      const value = readSecret(source.file);
      return value === seen ? headers : renew(value);
    },
    invalidate: () => false,
    close: () => undefined,
  };
}

/** Returns the value of a secret file if a header may carry it. @throws ConfigError that names the file and never the value */
export function checkHeaderValue(value: string, file: string, backend: string): string {
  if (isHeaderValue(value)) return value;
  throw new ConfigError(`backend ${backend}: ${file} is empty or holds characters that no header may have`);
}

export const isHeaderValue = (value: string): boolean => !isBlank(value) && HEADER_VALUE.test(value);
