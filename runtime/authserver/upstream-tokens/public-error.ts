import { RequestError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import { StorageUnavailable } from '../storage/storage.ts';
import { UpstreamUnavailable } from '../upstream/provider.ts';

const rpc = { code: -32603 };

export function publicError(error: unknown, provider: string, log: Log): RequestError {
  if (error instanceof RequestError) return error;
  const isStorage = error instanceof StorageUnavailable;
  if (!isStorage && !(error instanceof UpstreamUnavailable))
    log.error('stored tokens could not be had', { provider, error });
  return new RequestError(
    isStorage
      ? { status: 503, code: 'storage_unavailable', text: 'Not available at the moment: try again', rpc }
      : { status: 200, code: 'upstream_unavailable', text: `${provider} cannot be reached: try again later`, rpc },
    { cause: error },
  );
}
