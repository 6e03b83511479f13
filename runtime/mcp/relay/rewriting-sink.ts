import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { AnswerSink } from '../backends/backend.ts';
import type { PreparedCall } from '../route/prepare-call.ts';

/** Takes each answer in one piece, so that it can be rewritten: the reader sends parts only to a sink with `part`. */
export function inOnePiece(sink: AnswerSink): AnswerSink {
  return {
    json: (...answer) => sink.json(...answer),
    accepted: () => sink.accepted(),
    open: (...opened) => sink.open(...opened),
    event: (event) => sink.event(event),
    ...(sink.named && { named: (name, data) => sink.named?.(name, data) }),
    close: (...ended) => sink.close(...ended),
    fail: (failure) => sink.fail(failure),
    ...(sink.awaitsClient && { awaitsClient: () => sink.awaitsClient?.() === true }),
  };
}

/** Passes on each message as `rewrite` returns it. */
export function rewritingSink(sink: AnswerSink, rewrite: (message: string) => string): AnswerSink {
  return {
    ...inOnePiece(sink),
    json: (status, body, kind, sessionId) =>
      sink.json(status, Buffer.from(rewrite(body.toString('utf8'))), kind, sessionId),
    event(event) {
      const data = rewrite(event.data);
      sink.event(data === event.data ? event : { ...event, data, message: decodeBackendMessage(data) });
    },
  };
}

/** Returns the sink for a call whose answer is rewritten, or is about a task; the same sink for other calls. */
export function sinkFor(sink: AnswerSink, { rewrite, taskId }: PreparedCall): AnswerSink {
  if (rewrite) return rewritingSink(sink, rewrite);
  return taskId === undefined ? sink : inOnePiece(sink);
}
