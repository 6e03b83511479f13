/** What a refused or failed request tells its client. The private reason is the `cause`; it is logged, never sent. */
export interface PublicAnswer {
  /** HTTP status. */
  status: number;
  /** Stable word for logs, metrics and audit lines, e.g. `invalid_token`. */
  code: string;
  /** Fixed text for the client: never contains input, tokens or parser messages. */
  text: string;
  /** Response headers, e.g. WWW-Authenticate. */
  headers?: Record<string, string>;
  /** JSON-RPC error, when the request was understood as JSON-RPC (the HTTP status may then be 200). */
  rpc?: { code: number; data?: unknown };
}

/**
 * The one error class of a request's way: thrown anywhere, turned into an answer by `answerError` of `http/answer-error.ts`, and
 * where a stream has begun by its `renderRpcError`.
 */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly answer: PublicAnswer;
  constructor(answer: PublicAnswer, options?: ErrorOptions) {
    super(answer.text, options);
    this.answer = answer;
  }
}

/** Configuration that cannot be served. `where` is `file:line path`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
