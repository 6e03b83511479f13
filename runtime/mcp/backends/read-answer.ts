import type { BackendCall, Flow } from './backend.ts';

/** Reads the body of an answer as it comes. Two: one JSON document, or a stream of events. */
export interface AnswerReader {
  push(chunk: Buffer): void;
  /** The body is over. */
  end(): void;
}

/** Why a body is no answer. */
export type BodyFault = 'protocol' | 'too_large';

/** The exchange whose answer is read. */
export interface ReadExchange extends Flow {
  readonly call: BackendCall;
  readonly status: number;
  /** The backend's session that the headers of the answer name. */
  readonly sessionId: string | undefined;
  readonly maxResponseBytes: number;
  readonly isOver: boolean;
  /** It stays open for as long as its session. */
  readonly isStream: boolean;
  /** Set for each sign of life of the call. */
  heard: boolean;
  /** Counts what the reader keeps of this answer. What is left of it may come later for that. */
  keep(bytes: number): void;
  /** The answer is whole: to be called before the sink is told. */
  finish(): void;
  /** The HTTP status is no answer. */
  refuse(): void;
  fault(reason: BodyFault, cause?: unknown): void;
}
