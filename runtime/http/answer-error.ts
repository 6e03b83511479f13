import type { ServerResponse } from 'node:http';
import { RequestError, type PublicAnswer } from '#runtime/errors';

interface FailedRequest {
  readonly requestId: string;
  /** The JSON-RPC id as written in the request; undefined: none, or not read yet. */
  readonly rpcId?: string | undefined;
}

const INTERNAL: PublicAnswer = { status: 500, code: 'internal', text: 'Internal error' };
const RPC_INTERNAL = -32603;

/** Cuts off an answer that has begun, so that its part is not taken for the whole. The caller logs the cause. @returns the public answer */
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
