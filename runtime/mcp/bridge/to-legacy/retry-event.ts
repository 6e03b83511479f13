import type { AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import type { FailureReason } from '#runtime/mcp/backends/failures';

/** Events between a replica that received a client's retry, and the one that holds the parked call. `retry`: a random id. */
export type RetryEvent =
  /** `body`: the client's request. */
  | { readonly type: 'retry'; readonly retry: string; readonly call: string; readonly body: string }
  /** The holder works on it. Repeated. */
  | { readonly type: 'retry_taken'; readonly retry: string }
  /** `data`: a notification for the client. */
  | { readonly type: 'retry_notified'; readonly retry: string; readonly data: string }
  | {
      readonly type: 'retry_answered';
      readonly retry: string;
      readonly status: number;
      readonly body: string;
      readonly kind: AnswerKind;
    }
  | { readonly type: 'retry_failed'; readonly retry: string; readonly reason: FailureReason; readonly sent: boolean }
  /** The client left. */
  | { readonly type: 'retry_left'; readonly retry: string };
