import type { Log } from '#runtime/telemetry/log';
import type { BackendMessage } from './decode-backend-message.ts';
import type { DecodedRequest } from './decode-request.ts';
import { idTextOf } from './message-id.ts';

export const PROGRESS = 'notifications/progress';

/** Canonical JSON text. */
export function progressTokenOf({ spans }: Pick<DecodedRequest, 'spans'>, body: Buffer): string | undefined {
  const span = spans['params._meta.progressToken'];
  return span && readToken(body.toString('utf8', span.start, span.end));
}

/** Unlike an id, a token may be a fraction or a long string, as clients only compare it. */
function readToken(written: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(written);
  } catch {
    return undefined;
  }
  if (typeof value === 'string') return JSON.stringify(value);
  return idTextOf(value, written) ?? (Number.isFinite(value) ? String(value) : undefined);
}

/** Canonical JSON text. */
export function reportedToken({ spans }: Pick<BackendMessage, 'spans'>, data: string): string | undefined {
  const span = spans['params.progressToken'];
  return span && readToken(data.slice(span.start, span.end));
}

export function noteForeignProgress(log: Log, backend: string): void {
  log.debug('dropped a progress notification with the token of another call', { backend });
}
