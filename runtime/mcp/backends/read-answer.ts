import type { BackendCall, Flow } from './backend.ts';

/** Reads the body of an answer as it arrives. Implementations: one JSON document, or a stream of events. */
export interface AnswerReader {
  push(chunk: Buffer): void;
  /** Ends the body. */
  end(): void;
}

/** The reason why a body is no answer. */
export type BodyFault = 'protocol' | 'too_large';

/** The exchange whose answer is read. */
export interface ReadExchange extends Flow {
  readonly call: BackendCall;
  readonly status: number;
  /** The backend session in the headers of the answer. */
  readonly sessionId: string | undefined;
  readonly maxResponseBytes: number;
  readonly isOver: boolean;
  /** Whether the stream stays open as long as its session. */
  readonly isStream: boolean;
  /** Set on each sign of progress. */
  showedLife: boolean;
  /** Reports the bytes that the reader buffers. The exchange may pause reading. */
  keep(bytes: number): void;
  /** Ends the exchange. Call it before the sink receives the last part. */
  finish(): void;
  /** Refuses the answer because of its HTTP status. */
  refuse(): void;
  fault(reason: BodyFault, cause?: unknown): void;
}
