import type { IncomingMessage } from 'node:http';
import { z } from 'zod';

/** Problem codes with HTTP status (RFC 9110) and title. `docs/reference/problems.md` is generated from them. */
export const PROBLEMS = {
  bad_request: [400, 'The request is not what the operation takes; `detail` names the field and the remedy.'],
  inline_secret: [400, 'A secret stands in the record itself: store it, and write its reference.'],
  path_not_available: [400, 'Paths of a machine mean nothing in a cluster: send what is there, or a reference.'],
  unsupported_provider: [400, 'This secrets provider is not available here.'],
  namespace_missing: [400, 'In a cluster `?namespace=` says which one is meant.'],
  unauthenticated: [401, 'No token, or one that is not valid here.'],
  forbidden: [403, 'The caller may not do this; `detail` names verb and resource.'],
  private_address_refused: [
    403,
    'This API calls no private addresses; its administrator decides (`--allow-private-addresses`).',
  ],
  image_refused: [
    403,
    'The image has a signature, which does not show what the registry says of it; `detail` says why. Nothing was made.',
  ],
  foreign_host: [403, 'The Host or Origin header is not one of this server: another page may not use it.'],
  not_found: [404, 'There is nothing of this name.'],
  method_not_allowed: [405, 'The path does not take this method; see `Allow`.'],
  provider_read_only: [405, 'The active secrets provider cannot be written.'],
  already_exists: [409, 'The name is taken.'],
  conflict: [409, 'Somebody else owns what would change; `detail` names the owner. `force=true` takes it over.'],
  in_use: [409, 'Something else uses it; `detail` names what.'],
  busy: [409, 'The same thing is being worked on: try again when it is done.'],
  too_slow: [408, 'The request did not come to its end in time.'],
  stale: [412, 'It has changed since it was read (`If-Match`): read it again.'],
  too_large: [413, 'The body is larger than this server takes.'],
  unsupported_media_type: [415, 'The body must be application/json.'],
  too_many_requests: [429, 'More requests than a caller may make; see `Retry-After`.'],
  headers_too_large: [431, 'Path, query and headers together are longer than this server takes.'],
  internal: [500, 'Something failed that the caller cannot mend; the log has the request id.'],
  store_damaged: [500, 'What is stored cannot be read; nothing was changed. `detail` names the file and the remedy.'],
  secrets_locked: [500, 'The encrypted secrets cannot be opened: no password is known here, or it is another one.'],
  source_failed: [500, 'The source of a skill cannot be reached, or answers something else; try again.'],
  upstream_failed: [502, 'A registry or an identity provider answered with something else than expected.'],
  unavailable: [503, 'Something that is needed does not answer now; try again.'],
  upstream_timeout: [504, 'A registry or an identity provider did not answer in time.'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Body of every error answer: `application/problem+json` (RFC 9457). */
export const ProblemBody = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]),
});
export type ProblemBody = z.infer<typeof ProblemBody>;

/** Error answer. `message` is public: it says what is wrong and how to fix it, without secrets. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly headers: Readonly<Record<string, string>>;
  constructor(code: ProblemCode, message: string, options: ErrorOptions & { headers?: Record<string, string> } = {}) {
    super(message, options);
    this.code = code;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return PROBLEMS[this.code][0];
  }

  get body(): ProblemBody {
    const [status, title] = PROBLEMS[this.code];
    return { type: `urn:vmcp:problem:${this.code}`, title, status, detail: this.message, code: this.code };
  }
}

/** Only the text of a Problem leaves this process. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem('internal', 'it failed inside; the log of vmcp says more', { cause: error });
}

/** Omits the query of the request. */
export function failureText({ method, url }: IncomingMessage, { code, message, cause }: Problem): string {
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  return `${method ?? ''} ${url?.split('?')[0] ?? ''}: ${code}: ${message}${why}`;
}
