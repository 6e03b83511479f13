import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { RequestError } from '#runtime/errors';
import { answerError } from '#runtime/http/answer-error';
import type { Identity } from '#runtime/incoming/identity';
import { noteAnswer } from '#runtime/note-trail';
import type { Services } from '#runtime/services';
import { Trail } from '#runtime/trail';

/**
 * Passes a request to an endpoint through all stages and ends it. Errors become the answer here. After a stream has begun, the relay of
 * the revision writes the failure instead.
 */
export async function enter(
  req: IncomingMessage,
  res: ServerResponse,
  services: Services,
  act: (identity: Identity, trail: Trail) => Promise<void>,
): Promise<void> {
  const trail = new Trail(req, performance.now());
  services.running.add(trail);
  try {
    const cors = services.hostOrigin.check(req.headers.host, req.headers.origin);
    if (cors) for (const [name, value] of Object.entries(cors)) res.setHeader(name, value);
    const known = services.authenticator.authenticate(req.rawHeaders, req.socket);
    const identity = known instanceof Promise ? await known : known;
    trail.identity = identity;
    await act(identity, trail);
  } catch (error) {
    noteAnswer(trail, answerError(res, error, { requestId: trail.id, rpcId: trail.rpcId }), error);
    logFailure(error, services, trail);
  } finally {
    services.running.delete(trail);
    services.finish(trail);
  }
}

/** Logs unexpected failures. Metrics and audit report expected ones by their code. */
export function logFailure(error: unknown, { log }: Services, { id: request }: Trail): void {
  if (!(error instanceof RequestError)) log.error('a request failed unexpectedly', { request, error });
  else if (error.answer.status >= 500) log.debug('a request failed', { request, error });
}
