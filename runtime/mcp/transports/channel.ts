import type { BackendCall } from '#runtime/mcp/backends/backend';
import type { CallFailure } from '#runtime/mcp/backends/failures';
import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';

export type CallEnd = 'exited' | 'too_large' | CallFailure;

export interface Noise {
  /** Lines that are no MCP message. */
  garbage: number;
  /** Answers without a call, second answers, and progress without a call. */
  stray: number;
  oversized: number;
}

export interface LargeAnswerTaker {
  /** The pieces belong to the callee. */
  passLarge(pieces: Buffer[], kind: AnswerKind): void;
}

/** The channel replaces its id and progress token, and restores them in the answer. */
export interface ChannelCall {
  readonly body: Buffer;
  /** JSON text. */
  readonly idText: string;
  /** Undefined: it is the gateway's own request. */
  readonly from?: BackendCall | undefined;
  readonly onAnswer: (line: Buffer, kind: AnswerKind) => void;
  /** Absent: `onAnswer` receives large answers too. */
  readonly taker?: LargeAnswerTaker;
  readonly onProgress: (line: Buffer) => void;
  readonly onEnd: (end: CallEnd) => void;
}

export interface OneWayExchange {
  readonly call: BackendCall;
  accept(): void;
  fail(failure: CallFailure): void;
}

export interface ChannelEvents {
  readonly onUnsolicited: (line: Buffer, message: BackendMessage) => void;
  /** Called once, after the channel was returned. `reason`: a text of this program. `wasKilled`: by an external signal. */
  readonly onExit: (reason: string, wasKilled?: boolean) => void;
}

export interface Channel {
  readonly noise: Noise;
  readonly isOver: boolean;
  /** The gateway reads no more from it until other calls release memory. */
  readonly isHeld: boolean;
  readonly hasSpoken: boolean;
  /** Returns the number for `cancel` and `forget`; undefined if the request could not be sent. */
  call(call: ChannelCall): number | undefined;
  forget(id: number): void;
  cancel(id: number): void;
  /** Ends the exchange on receipt. Returns false if the message cannot be delivered. */
  send(body: Buffer, exchange?: OneWayExchange): boolean;
  close(): Promise<void>;
}
