/** Public part of a refused or failed request. The private reason is the `cause`: it is logged, never sent. */
export interface PublicAnswer {
  status: number;
  /** Stable word for logs, metrics and audit lines, e.g. `invalid_token`. */
  code: string;
  /** Fixed text for the client. It never contains input, tokens or parser messages. */
  text: string;
  headers?: Record<string, string>;
  /** JSON-RPC error if the request is valid JSON-RPC. The HTTP status may then be 200. */
  rpc?: { code: number; data?: unknown };
}

/** `answerError` turns it into the answer; after a stream has begun, `renderRpcError` does. */
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
