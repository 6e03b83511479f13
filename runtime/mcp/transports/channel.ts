import type { BackendCall } from '#runtime/mcp/backends/backend';
import type { CallFailure } from '#runtime/mcp/backends/failures';
import type { AnswerKind, BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';

/** Why a call that was sent got no answer. */
export type CallEnd = 'exited' | 'too_large' | CallFailure;

/** What a server wrote that was no answer to anything, since its channel was opened. */
export interface Noise {
  /** What is no MCP message. */
  garbage: number;
  /** Answers to no call, second answers, progress of no call. */
  stray: number;
  /** Messages above the size limit. */
  oversized: number;
}

export interface LargeAnswerTaker {
  /** The pieces belong to the callee. */
  passLarge(pieces: Buffer[], kind: AnswerKind): void;
}

/** One request on its way through a channel. Its own id and progress token are replaced on the way and put back. */
export interface ChannelCall {
  /** The JSON-RPC request as the client wrote it. */
  readonly body: Buffer;
  /** JSON text of the client's id. */
  readonly idText: string;
  /** Whose request it is; undefined: the gateway's own. */
  readonly from?: BackendCall | undefined;
  /** The answer, with the client's id. */
  readonly onAnswer: (line: Buffer, kind: AnswerKind) => void;
  /** Takes a large answer in pieces. Absent: it is given to `onAnswer` as any other. */
  readonly taker?: LargeAnswerTaker;
  /** A progress notification for this call, with the client's token. */
  readonly onProgress: (line: Buffer) => void;
  readonly onEnd: (end: CallEnd) => void;
}

/** The exchange of a message that gets no answer. */
export interface OneWayExchange {
  readonly call: BackendCall;
  /** The server took the message. */
  accept(): void;
  fail(failure: CallFailure): void;
}

/** What belongs to no call, and the end. */
export interface ChannelEvents {
  /** Notifications, and requests of the server. */
  readonly onUnsolicited: (line: Buffer, message: BackendMessage) => void;
  /**
   * Called once, and never before the channel was returned. `reason`: in words of this program. `wasKilled`: a signal from
   * outside ended the process.
   */
  readonly onExit: (reason: string, wasKilled?: boolean) => void;
}

/**
 * One way to a server that all messages of a session, or of everybody, go. Two implementations: standard input and output of a
 * process, and a stream of events with the POSTs that belong to it.
 */
export interface Channel {
  readonly noise: Noise;
  /** The server is gone. */
  readonly isOver: boolean;
  /** The gateway reads no more of it until others have given back the memory that they use. */
  readonly isHeld: boolean;
  /** Whether it has said anything yet. */
  readonly hasSpoken: boolean;
  /** Sends a request. The number is its name for `cancel` and `forget`; undefined when it could not be sent. */
  call(call: ChannelCall): number | undefined;
  /** Nobody waits for this call any longer: what still comes of it is dropped. */
  forget(id: number): void;
  /** Tells the server that this call is given up. */
  cancel(id: number): void;
  /**
   * Sends a notification, or the answer to a request of the server, as it is; the exchange that it came in is over when it was
   * taken. False: it cannot be delivered.
   */
  send(body: Buffer, exchange?: OneWayExchange): boolean;
  close(): Promise<void>;
}
