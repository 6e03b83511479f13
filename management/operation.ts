import { z } from 'zod';
import { explainSome } from '#crds/parts/explain';
import type { Expected } from './if-match.ts';
import { Problem, type ProblemCode } from './problem.ts';
import type { Rooms } from './rooms.ts';

/** What a caller must be allowed to do, in the words of Kubernetes RBAC. */
export interface Touch {
  verb: 'get' | 'list' | 'create' | 'update' | 'delete' | 'use';
  /** Plural name within our API group: `mcpservers`, `clients`, `skills`; of a subresource as roles write it: `pods/log`. */
  resource: string;
  /** Another API group; the empty text is that of Secrets and ConfigMaps. */
  group?: string;
  name?: string;
}

export interface Caller {
  /** Who it is, for the audit log. */
  name: string;
  /** Throws `forbidden` where it may not. */
  check(touch: Touch): Promise<void>;
}

/** A request before it is looked at. */
export interface RawRequest {
  params: unknown;
  query: unknown;
  body: unknown;
  /** Versions that the caller would have changed (`If-Match`, RFC 9110 §13.1.1); absent where any will do. */
  ifMatch?: Expected | undefined;
  caller: Caller;
  /** Aborted when nobody waits any more, or the answer has not begun before the deadline. */
  signal: AbortSignal;
}

export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  ifMatch: Expected | undefined;
  caller: Caller;
  signal: AbortSignal;
}

export interface Answer<R> {
  body: R;
  /** Version of what was read or written, without quotes: becomes the entity tag. */
  etag?: string;
  /** The body as JSON, where somebody has it already. */
  json?: Buffer;
  /** In place of a body: lines as they come, each with its line break. */
  lines?: AsyncIterable<string>;
}

/** Code to when this operation answers it. */
export type ProblemsOf = Readonly<Partial<Record<ProblemCode, string>>>;

interface Definition<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** Number in the specification's table; absent for those besides. */
  number?: number;
  /** OpenAPI operationId. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base, with parameters in braces: `/workloads/{name}`. */
  path: string;
  summary: string;
  /** False for what is the same in every namespace: `?namespace=` may be left out. */
  namespaced?: false;
  params: P;
  query: Q;
  /** NoBody where there is none. */
  body: B;
  success: 200 | 201 | 202 | 204;
  /** Nothing for an answer without a body; what is sent is checked against it in tests. */
  result: R;
  /** Media type of the answer when it is not JSON: `text/plain` for lines. */
  media?: string;
  /** The answer has an entity tag. */
  givesTag?: true;
  /** Its tag is of all that the answer says: `If-None-Match` is honoured, 304 as long as that is the same. */
  tagsAll?: true;
  /** `If-Match` is honoured: 412 when it has changed since. */
  takesTag?: true;
  /** Those of its own, beside those that every operation may answer. */
  problems: ProblemsOf;
  touches: (input: Input<z.output<P>, z.output<Q>, z.output<B>>) => Touch[];
  /** One of them that does not depend on the body: it is asked for before a long one is read. */
  first?: (params: z.output<P>) => Touch;
  /** Type of the audit event of an operation that changes something, e.g. `management_workload_deleted`. */
  audit?: `management_${string}`;
  run: (input: Input<z.output<P>, z.output<Q>, z.output<B>>, rooms: Rooms) => Promise<Answer<z.input<R>>>;
}

/** One operation of the API: a row of the table from which routes, checks, OpenAPI and the reference docs are made. */
export interface Operation extends Omit<
  Definition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>,
  'run' | 'touches' | 'first'
> {
  /** Asks for what can be asked for before the body is read. @throws Problem */
  checkFirst(request: Pick<RawRequest, 'params' | 'caller'>): Promise<void>;
  /** Checks the request, and asks whether the caller may. @throws Problem */
  check(request: RawRequest): Promise<void>;
  /** The same, and does it. @throws Problem */
  call(request: RawRequest, rooms: Rooms): Promise<Answer<unknown>>;
}

/** A row whose shapes are known to who calls it from this program. */
export type TypedOperation<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  R extends z.ZodType,
> = Operation & Pick<Definition<P, Q, B, R>, 'params' | 'query' | 'body' | 'result'>;

export function operation<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  definition: Definition<P, Q, B, R>,
): TypedOperation<P, Q, B, R> {
  const { touches, first, run, ...described } = definition;
  const admit = async (request: RawRequest) => {
    const input = {
      ...request,
      ifMatch: request.ifMatch,
      params: read(definition.params, request.params, 'path'),
      query: read(definition.query, request.query, 'query'),
      body: read(definition.body, request.body, 'body'),
    };
    for (const touch of touches(input)) await request.caller.check(touch);
    return input;
  };
  return {
    ...described,
    async checkFirst({ params, caller }) {
      if (first) await caller.check(first(read(definition.params, params, 'path')));
    },
    async check(request) {
      await admit(request);
    },
    call: async (request, rooms) => run(await admit(request), rooms),
  };
}

/** @throws Problem `bad_request` that names fields and remedies */
function read<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const source = { file: where, lineOf: () => undefined, schema };
  throw new Problem('bad_request', explainSome(result.error, source).join('. '));
}

export const NoParams = z.strictObject({});
export const NoQuery = z.strictObject({});
export const NoBody = z.undefined({ error: 'this operation takes no body; send none' });
export const Nothing = z.undefined();

/** Problems that any operation may answer, and when. */
export const EVERYWHERE = {
  bad_request:
    'path, query or body is not what the operation takes, or the body has more than 20000 values or is nested more than 100 deep',
  namespace_missing: 'in a cluster, no namespace is named',
  unauthenticated: 'no token, or one that is not valid here',
  forbidden: 'the caller may not do this',
  foreign_host: 'the Host or Origin header is not one of this server',
  too_large: 'the body is longer than 4 MiB',
  unsupported_media_type: 'the body is not application/json in UTF-8, or is compressed',
  too_slow: 'the request takes longer than 30 seconds to come, or its head longer than 10',
  headers_too_large: 'path, query and headers together are longer than 32 KiB',
  too_many_requests: 'the caller makes more requests than it may, or has bodies of more than 16 MiB on their way',
  internal: 'something failed inside',
  unavailable: 'something that is needed does not answer, or it took too long',
} as const satisfies ProblemsOf;
