import type { ServerResponse } from 'node:http';
import { RequestError, type PublicAnswer } from '#runtime/errors';

/** What is known of the request when it fails. */
interface FailedRequest {
  readonly requestId: string;
  /** The JSON-RPC id as it stood in the request; undefined: none, or not read yet. */
  readonly rpcId?: string | undefined;
}

const INTERNAL: PublicAnswer = { status: 500, code: 'internal', text: 'Internal error' };
/** The JSON-RPC code of errors that have none of their own. */
const RPC_INTERNAL = -32603;

/**
 * Turns whatever was thrown into the answer of a request that has none yet; what fails after a stream has begun is written
 * into the stream by the relays, with `renderRpcError`. The cause stays private: the caller logs it. An answer that has begun
 * is cut off, so that nobody takes its first part for the whole.
 * @returns what the client was told, for log, metrics and audit
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
    // What is left of a body that is too large is not read.
    ...(answer.status === 413 && { Connection: 'close' }),
    ...answer.headers,
  });
  res.end(body);
  return answer;
}

/** An error that nobody foresaw says nothing of itself; a JSON-RPC request gets it as a JSON-RPC error. */
function publicAnswer(error: unknown, { rpcId }: FailedRequest): PublicAnswer {
  if (error instanceof RequestError) return error.answer;
  return rpcId === undefined ? INTERNAL : { ...INTERNAL, rpc: { code: RPC_INTERNAL } };
}

function bodyOf({ code, text, rpc, status }: PublicAnswer, { rpcId, requestId }: FailedRequest): string {
  if (rpc) return renderRpcError({ rpc, text }, rpcId);
  return JSON.stringify({ error: code, error_description: text, ...(status >= 500 && { request_id: requestId }) });
}

/** A JSON-RPC error response; `idText` is the request's id as JSON text. */
export function renderRpcError({ rpc, text }: Pick<PublicAnswer, 'rpc' | 'text'>, idText: string | undefined): string {
  const data = rpc?.data === undefined ? {} : { data: rpc.data };
  const error = JSON.stringify({ code: rpc?.code ?? RPC_INTERNAL, message: text, ...data });
  return `{"jsonrpc":"2.0","id":${idText ?? 'null'},"error":${error}}`;
}
