import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { RequestError } from '#runtime/errors';
import { answerError } from '#runtime/http/answer-error';
import type { Identity } from '#runtime/incoming/identity';
import { noteAnswer } from '#runtime/write-request-record';
import type { Services } from '#runtime/services';
import { RequestRecord } from '#runtime/request-record';

/** Passes a request through all stages. Errors become the answer here; after a stream has begun, the relay writes the failure. */
export async function enter(
  req: IncomingMessage,
  res: ServerResponse,
  services: Services,
  act: (identity: Identity, requestRecord: RequestRecord) => Promise<void>,
): Promise<void> {
  const requestRecord = new RequestRecord(req, performance.now());
  services.running.add(requestRecord);
  try {
    const cors = services.hostOrigin.check(req.headers.host, req.headers.origin);
    if (cors) for (const [name, value] of Object.entries(cors)) res.setHeader(name, value);
    const known = services.authenticator.authenticate(req.rawHeaders, req.socket);
    const identity = known instanceof Promise ? await known : known;
    requestRecord.identity = identity;
    await act(identity, requestRecord);
  } catch (error) {
    noteAnswer(
      requestRecord,
      answerError(res, error, { requestId: requestRecord.id, rpcId: requestRecord.rpcId }),
      error,
    );
    logFailure(error, services, requestRecord);
  } finally {
    services.running.delete(requestRecord);
    services.finish(requestRecord);
  }
}

/** Logs unexpected failures. Metrics and audit report expected ones by their code. */
export function logFailure(error: unknown, { log }: Services, { id: request }: RequestRecord): void {
  if (!(error instanceof RequestError)) log.error('a request failed unexpectedly', { request, error });
  else if (error.answer.status >= 500) log.debug('a request failed', { request, error });
}
