import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import { checkHeaderName } from './check-header-name.ts';
import type { Credential, CredentialHeaders } from './credential.ts';

/** RFC 9110 §5.5 without line breaks: what may stand in a header's value. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]+$/;

const NONE: CredentialHeaders = Object.freeze([]);

/** No credential at all: the client's own never stands in for it. */
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

/**
 * One header with a file's value, the same for every caller; it follows the file.
 * A value that cannot stand in a header never replaces one that can.
 * @throws ConfigError for a header that frames or routes messages, and for an unusable value at the start
 */
export function headerValue(source: HeaderSource, { backend, readSecret, log }: HeaderDeps): Credential {
  const name = checkHeaderName(source.name, backend);
  let seen = readSecret(source.file);
  if (!HEADER_VALUE.test(seen)) {
    throw new ConfigError(`backend ${backend}: ${source.file} is empty or holds characters that no header may have`);
  }
  let headers: CredentialHeaders = Object.freeze([name, source.prefix + seen]);

  function renew(value: string): CredentialHeaders {
    seen = value;
    if (HEADER_VALUE.test(value)) headers = Object.freeze([name, source.prefix + value]);
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
