import type { ServerResponse } from 'node:http';
import { RequestError, type PublicAnswer } from '#runtime/errors';

/** Known properties of the failed request. */
interface FailedRequest {
  readonly requestId: string;
  /** The JSON-RPC id as written in the request; undefined: none, or not read yet. */
  readonly rpcId?: string | undefined;
}

const INTERNAL: PublicAnswer = { status: 500, code: 'internal', text: 'Internal error' };
/** JSON-RPC code of errors without a code of their own. */
const RPC_INTERNAL = -32603;

/**
 * Answers a request with the thrown error, if it has no answer yet. After a stream has begun, the relays write errors into it with
 * `renderRpcError`. The caller logs the private cause. This function cuts off an answer that has begun, so that its first part is not
 * taken for the whole. @returns the public answer, for log, metrics and audit
 */
export function answerError(res: ServerResponse, error: unknown, request: FailedRequest): PublicAnswer {
  const answer = publicAnswer(error, request);
  if (res.headersSent) {
    if (!res.writableEnded) res.destroy();
    return answer;
  }
  if (res.destroyed) return answer;
  const body = Buffer.from(bodyOf(answer, request));
  res.writeHead(answer.status, {
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    'X-Request-Id': request.requestId,
    // The rest of a body that is too large is not read.
    ...(answer.status === 413 && { Connection: 'close' }),
    ...answer.headers,
  });
  res.end(body);
  return answer;
}

/** Returns a fixed answer for an unexpected error. A JSON-RPC request gets it as a JSON-RPC error. */
function publicAnswer(error: unknown, { rpcId }: FailedRequest): PublicAnswer {
  if (error instanceof RequestError) return error.answer;
  return rpcId === undefined ? INTERNAL : { ...INTERNAL, rpc: { code: RPC_INTERNAL } };
}

function bodyOf({ code, text, rpc, status }: PublicAnswer, { rpcId, requestId }: FailedRequest): string {
  if (rpc) return renderRpcError({ rpc, text }, rpcId);
  return JSON.stringify({ error: code, error_description: text, ...(status >= 500 && { request_id: requestId }) });
}

/** Returns a JSON-RPC error response. `idText` is the request's id as JSON text. */
export function renderRpcError({ rpc, text }: Pick<PublicAnswer, 'rpc' | 'text'>, idText: string | undefined): string {
  const data = rpc?.data === undefined ? {} : { data: rpc.data };
  const error = JSON.stringify({ code: rpc?.code ?? RPC_INTERNAL, message: text, ...data });
  return `{"jsonrpc":"2.0","id":${idText ?? 'null'},"error":${error}}`;
}
