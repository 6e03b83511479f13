import { randomBytes } from 'node:crypto';
import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { scanEnvelope, type Span } from '#runtime/mcp/envelope/scan-envelope';
import { splice } from '#runtime/mcp/envelope/splice';

/** The same number at another replica's channel means another request, so ids name their channel. */
export class BoundIds {
  readonly #mark = `${randomBytes(9).toString('base64url')}.`;

  bind(line: Buffer, message: BackendMessage): Buffer {
    const span =
      message.kind === 'request'
        ? message.spans.id
        : message.method === 'notifications/cancelled'
          ? message.spans['params.requestId']
          : undefined;
    return span ? splice(line, [{ ...span, text: JSON.stringify(this.#mark + textAt(line, span)) }]) : line;
  }

  /** Undefined: the message answers a request of another channel. */
  release(body: Buffer): Buffer | undefined {
    const { spans } = scanEnvelope(body.toString('latin1'), true, false);
    if (spans.method || !spans.id) return body;
    const id: unknown = JSON.parse(textAt(body, spans.id));
    if (typeof id !== 'string' || !id.startsWith(this.#mark)) return undefined;
    return splice(body, [{ ...spans.id, text: id.slice(this.#mark.length) }]);
  }
}

function textAt(bytes: Buffer, { start, end }: Span): string {
  return bytes.toString('utf8', start, end);
}
