import { renderRpcError } from '#runtime/http/answer-error';
import { answerJson } from '#runtime/http/answer-json';
import { noteAnswer, noteCancelled, noteAnswered } from '#runtime/write-request-record';
import type { ClientRequest } from '../client-request.ts';
import type { Flow } from '../backends/backend.ts';
import type { CallFailure } from '../backends/failures.ts';
import type { AnswerKind, BackendMessage } from '../envelope/decode-backend-message.ts';
import { writeSse, type eventEnding } from '../sse/write-sse.ts';
import { ClientDocument, ClientStream } from './client-stream.ts';
import { countUnread } from './unread-bytes.ts';

type EventFields = Parameters<typeof eventEnding>[0];

/**
 * Forwards a backend's answer to the client as it arrives: one document, whole or in parts, or a stream. Records the
 * answer.
 */
export class ClientAnswer {
  readonly #request: ClientRequest;
  #stream: ClientStream | undefined;
  #document: ClientDocument | undefined;
  #flow: Flow | undefined;

  constructor(request: ClientRequest) {
    this.#request = request;
  }

  json(status: number, body: Buffer, kind: AnswerKind): void {
    const { res, requestRecord } = this.#request;
    if (this.#isKept()) requestRecord.answer = body.toString('utf8');
    requestRecord.status = status;
    noteAnswered(requestRecord, kind);
    answerJson(res, status, body);
    countUnread(res, body.length, this.#request.services.bufferedBytes);
  }

  part(bytes: readonly Buffer[], flow: Flow): void {
    const { res, requestRecord } = this.#request;
    // The empty text makes the audit log mark the answer as truncated.
    if (this.#isKept()) requestRecord.answer = '';
    if (this.#stream) {
      this.#stream.writePart(bytes, flow);
      return;
    }
    this.#document ??= new ClientDocument(res);
    this.#document.write(bytes, flow);
  }

  ended(kind: AnswerKind, event: EventFields = {}): void {
    noteAnswered(this.#request.requestRecord, kind);
    if (this.#stream && this.#flow) this.#stream.endEvent(event, this.#flow);
    else this.#document?.end();
  }

  open(flow: Flow): void {
    this.#flow = flow;
    this.#stream = new ClientStream(this.#request.res);
    this.#stream.open();
  }

  noteEvent(message: BackendMessage, data: string): void {
    if (message.kind !== 'response') return;
    const { requestRecord } = this.#request;
    noteAnswered(requestRecord, message.answerKind);
    if (this.#isKept()) requestRecord.answer = data;
  }

  write(text: string): void {
    if (!this.#stream) return;
    this.#stream.write(text, this.#flow);
    countUnread(this.#request.res, text.length, this.#request.services.bufferedBytes);
  }

  end(): void {
    this.#stream?.end();
  }

  /** @returns whether the client was notified or cut off here; false: its request still needs an answer */
  fail({ error }: CallFailure): boolean {
    this.#document?.cut();
    if (!this.#stream) return false;
    const { requestRecord, message } = this.#request;
    noteAnswer(requestRecord, error.answer, error);
    // The client must not treat a partial event as complete.
    if (this.#stream.cutEvent()) return true;
    this.#stream.write(writeSse({ event: 'message', data: renderRpcError(error.answer, message.idText) }));
    this.#stream.end();
    return true;
  }

  /** SDK clients that cancelled accept an ended stream, or a 202, as the end. */
  cancelled(): void {
    const { res, requestRecord } = this.#request;
    noteCancelled(requestRecord);
    if (this.#document) {
      this.#document.cut();
    } else if (this.#stream) {
      this.#stream.end();
    } else if (!res.headersSent) {
      requestRecord.status = 202;
      res.writeHead(202, { 'content-length': 0 }).end();
    }
  }

  #isKept(): boolean {
    return this.#request.services.config.audit_config.includeResponseData;
  }
}
