import type { BackendCall, Flow } from './backend.ts';

export interface AnswerReader {
  push(chunk: Buffer): void;
  end(): void;
}

export type BodyFault = 'protocol' | 'too_large';

export interface ReadExchange extends Flow {
  readonly call: BackendCall;
  readonly status: number;
  readonly sessionId: string | undefined;
  readonly maxResponseBytes: number;
  readonly isOver: boolean;
  /** The stream stays open as long as its session. */
  readonly isStream: boolean;
  showedLife: boolean;
  /** Bytes that the reader buffers. The exchange may pause reading. */
  keep(bytes: number): void;
  /** Call it before the sink receives the last part. */
  finish(): void;
  refuse(): void;
  fault(reason: BodyFault, cause?: unknown): void;
}
