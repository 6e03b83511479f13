import { isUtf8 } from 'node:buffer';
import { decodeBackendMessage, type BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { scanEnvelope, type Span } from '#runtime/mcp/envelope/scan-envelope';
import { splice, type Edit } from '#runtime/mcp/envelope/splice';
import { toOneLine } from './one-line.ts';
import { runProcess, type ProcessSettings, type RunningProcess } from './run-process.ts';

/** Why a call that was sent got no answer. */
export type CallEnd = 'exited' | 'too_large';

/** One request on its way through a process. Its own id and progress token are replaced on the way and put back. */
interface StdioCall {
  /** The JSON-RPC request as the client wrote it. */
  readonly body: Buffer;
  /** JSON text of the client's id. */
  readonly idText: string;
  /** The answer, with the client's id. */
  readonly onAnswer: (line: Buffer, hasResult: boolean) => void;
  /** A progress notification for this call, with the client's token. */
  readonly onProgress: (line: Buffer) => void;
  readonly onEnd: (end: CallEnd) => void;
}

export interface ConnectionSettings extends Pick<ProcessSettings, 'command' | 'args' | 'env' | 'cwd' | 'maxLineBytes'> {
  readonly onStderr: (line: string) => void;
  /** What belongs to no call: notifications, and requests of the process. */
  readonly onUnsolicited: (line: Buffer, message: BackendMessage) => void;
  readonly onExit: (reason: string) => void;
}

/** What a process wrote that was no answer to anything, since it was started. */
export interface Noise {
  /** Lines that are no MCP message. */
  garbage: number;
  /** Answers to no call, second answers, progress of no call. */
  stray: number;
  /** Messages above the size limit. */
  oversized: number;
}

interface Pending {
  readonly call: StdioCall;
  /** JSON text of the client's progress token. */
  readonly tokenText: string | undefined;
}

const LAST_ID = /"id"\s*:\s*(\d{1,16})\s*\}\s*$/;

/** One process and the calls under way in it. Ids and progress tokens are its own numbers, so clients never collide. */
export class StdioConnection {
  readonly noise: Noise = { garbage: 0, stray: 0, oversized: 0 };
  readonly #settings: ConnectionSettings;
  readonly #process: RunningProcess;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #isOver = false;
  #hasSpoken = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#process = runProcess({
      ...settings,
      onLine: (line) => {
        this.#hasSpoken = true;
        this.#take(line);
      },
      onOversized: (head, tail) => {
        this.#hasSpoken = true;
        this.#refuseOversized(head, tail);
      },
      onExit: (reason) => this.#end(reason),
    });
  }

  /** The process is gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether it has said anything since it was started. */
  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  /** Sends a request. The number is its name for `cancel` and `forget`; undefined when it could not be sent. */
  call(call: StdioCall): number | undefined {
    const { spans } = scanEnvelope(call.body.toString('latin1'), true, false);
    if (this.#isOver || !spans.id) return undefined;
    const id = ++this.#lastId;
    const token = spans['params._meta.progressToken'];
    const edits: Edit[] = [{ ...spans.id, text: String(id) }];
    if (token) edits.push({ ...token, text: String(id) });
    if (!this.#process.write(toOneLine(splice(call.body, edits)))) return undefined;
    this.#pending.set(id, { call, tokenText: token && call.body.toString('utf8', token.start, token.end) });
    return id;
  }

  /** Nobody waits for this call any longer: what still comes of it is dropped. */
  forget(id: number): void {
    this.#pending.delete(id);
  }

  /** Tells the process that this call is given up. */
  cancel(id: number): void {
    if (!this.#pending.delete(id)) return;
    const params = { requestId: id };
    this.send(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })));
  }

  /** Sends a notification, or the answer to a request of the process, as it is. False: it cannot be delivered. */
  send(body: Buffer): boolean {
    return !this.#isOver && this.#process.write(toOneLine(body));
  }

  async close(): Promise<void> {
    await this.#process.stop();
    this.#end('was stopped');
  }

  #take(raw: Buffer): void {
    // A client must not get bytes that are no text because of one backend.
    const line = isUtf8(raw) ? raw : Buffer.from(raw.toString('utf8'));
    const message = decodeBackendMessage(line);
    if (!message) this.noise.garbage++;
    else if (message.kind === 'response') this.#takeAnswer(line, message);
    else if (message.method === 'notifications/progress') this.#takeProgress(line, message);
    else this.#settings.onUnsolicited(line, message);
  }

  #takeAnswer(line: Buffer, message: BackendMessage): void {
    const id = Number(message.idText);
    const pending = this.#pending.get(id);
    const span = message.spans.id;
    if (!pending || !span) {
      this.noise.stray++;
      return;
    }
    this.#pending.delete(id);
    const answer = withoutForgedMeta(splice(line, [{ ...span, text: pending.call.idText }]), message);
    pending.call.onAnswer(answer, message.hasResult);
  }

  #takeProgress(line: Buffer, message: BackendMessage): void {
    const span = message.spans['params.progressToken'];
    const pending = span && this.#pending.get(numberAt(line, span));
    if (!span || pending?.tokenText === undefined) {
      this.noise.stray++;
      return;
    }
    pending.call.onProgress(withoutForgedMeta(splice(line, [{ ...span, text: pending.tokenText }]), message));
  }

  /** A message above the limit is gone, but not the others: its id stands at one of its ends. */
  #refuseOversized(head: Buffer, tail: Buffer): void {
    this.noise.oversized++;
    const start = head.toString('latin1');
    const { id } = scanEnvelope(start, true, false).spans;
    const number = Number(id ? start.slice(id.start, id.end) : LAST_ID.exec(tail.toString('latin1'))?.[1]);
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    pending?.call.onEnd('too_large');
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const left = [...this.#pending.values()];
    this.#pending.clear();
    for (const { call } of left) call.onEnd('exited');
    this.#settings.onExit(reason);
  }
}

function numberAt(line: Buffer, span: Span): number {
  return Number(line.toString('latin1', span.start, span.end));
}

/** Without the protocol's own `_meta` keys, which a backend may not set. */
function withoutForgedMeta(line: Buffer, { hasReservedMeta }: BackendMessage): Buffer {
  return hasReservedMeta ? (decodeBackendMessage(line)?.clean(line) ?? line) : line;
}
