import type { BackendCall } from '#runtime/mcp/backends/backend';
import type { CallFailure } from '#runtime/mcp/backends/failures';
import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';

/** Why a call got no answer. */
export type CallEnd = 'exited' | 'too_large' | CallFailure;

/** Messages of a server that answered no call, since its channel opened. */
export interface Noise {
  /** Lines that are no MCP message. */
  garbage: number;
  /** Answers without a call, second answers, and progress without a call. */
  stray: number;
  /** Messages above the size limit. */
  oversized: number;
}

export interface LargeAnswerTaker {
  /** The pieces belong to the callee. */
  passLarge(pieces: Buffer[], kind: AnswerKind): void;
}

/** A request in a channel. The channel replaces its id and progress token, and restores them in the answer. */
export interface ChannelCall {
  /** The JSON-RPC request as the client wrote it. */
  readonly body: Buffer;
  /** JSON text of the client's id. */
  readonly idText: string;
  /** The call that the request belongs to; undefined: the gateway's own. */
  readonly from?: BackendCall | undefined;
  /** Receives the answer, with the client's id. */
  readonly onAnswer: (line: Buffer, kind: AnswerKind) => void;
  /** Receives a large answer in pieces. Absent: `onAnswer` receives it as any other. */
  readonly taker?: LargeAnswerTaker;
  /** Receives a progress notification of this call, with the client's token. */
  readonly onProgress: (line: Buffer) => void;
  readonly onEnd: (end: CallEnd) => void;
}

/** The exchange of a message without an answer. */
export interface OneWayExchange {
  readonly call: BackendCall;
  /** The server received the message. */
  accept(): void;
  fail(failure: CallFailure): void;
}

/** Receives messages that belong to no call, and the end of the channel. */
export interface ChannelEvents {
  /** Receives notifications and requests of the server. */
  readonly onUnsolicited: (line: Buffer, message: BackendMessage) => void;
  /**
   * Called once, and never before the channel was returned. `reason`: a text of this program. `wasKilled`: an external signal ended
   * the process.
   */
  readonly onExit: (reason: string, wasKilled?: boolean) => void;
}

/**
 * A connection to a server, for one session or for all. Implementations: standard input and output of a process, and an event stream
 * with its POSTs.
 */
export interface Channel {
  readonly noise: Noise;
  /** Whether the server has ended. */
  readonly isOver: boolean;
  /** Whether the gateway reads no more from it until other calls release memory. */
  readonly isHeld: boolean;
  /** Whether the server has sent anything yet. */
  readonly hasSpoken: boolean;
  /** Sends a request. Returns its number for `cancel` and `forget`; undefined if it could not be sent. */
  call(call: ChannelCall): number | undefined;
  /** Drops all later messages of this call. */
  forget(id: number): void;
  /** Tells the server that this call was given up. */
  cancel(id: number): void;
  /**
   * Sends a notification, or the answer to a request of the server, unchanged. Ends its exchange when the server received it.
   * Returns false if it cannot be delivered.
   */
  send(body: Buffer, exchange?: OneWayExchange): boolean;
  close(): Promise<void>;
}
