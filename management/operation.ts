import { z } from 'zod';
import { explainSome } from '#crds/parts/explain';
import type { Expected } from './if-match.ts';
import { Problem, type ProblemCode } from './problem.ts';
import type { Services } from './services.ts';

/** Permission that an operation requires, in the terms of Kubernetes RBAC. */
export interface Permission {
  verb: 'get' | 'list' | 'create' | 'update' | 'delete' | 'use';
  /** Plural name in vmcp's API group: `mcpservers`, `clients`, `skills`; a subresource as in roles: `pods/log`. */
  resource: string;
  /** Another API group; the empty string is the core group (Secrets, ConfigMaps). */
  group?: string;
  name?: string;
}

export interface Caller {
  /** User name for the audit log. */
  name: string;
  /** @throws Problem `forbidden` if the caller lacks the permission */
  check(permission: Permission): Promise<void>;
}

/** Unvalidated request. */
export interface RawRequest {
  params: unknown;
  query: unknown;
  body: unknown;
  /** Accepted versions (`If-Match`, RFC 9110 §13.1.1); absent if any version is accepted. */
  ifMatch?: Expected | undefined;
  caller: Caller;
  /** Aborted when the client disconnects or the answer does not begin before the deadline. */
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
  /** Version of the resource without quotes, for the ETag header. */
  etag?: string;
  /** The body as JSON, if the operation has it already. */
  json?: Buffer;
  /** Streamed lines in place of a body, each with its line break. */
  lines?: AsyncIterable<string>;
}

/** Maps a problem code to the case in which the operation answers it. */
export type ProblemsOf = Readonly<Partial<Record<ProblemCode, string>>>;

interface Definition<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** Number in the specification's table; absent for additional operations. */
  number?: number;
  /** OpenAPI operationId. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base, with parameters in braces: `/workloads/{name}`. */
  path: string;
  summary: string;
  /** False for an operation that does not depend on the namespace: `?namespace=` is optional. */
  namespaced?: false;
  params: P;
  query: Q;
  /** Schema of the body. An operation without a body accepts only undefined. */
  body: B;
  success: 200 | 201 | 202 | 204;
  /** `Nothing` for an answer without a body. Tests validate answers against this schema. */
  result: R;
  /** Media type of the answer if it is not JSON: `text/plain` for lines. */
  media?: string;
  /** The answer has an entity tag. */
  givesTag?: true;
  /** The entity tag covers the whole answer: `If-None-Match` is supported, with 304 if the tag matches. */
  tagsAll?: true;
  /** `If-Match` is supported: 412 if the resource has changed. */
  takesTag?: true;
  /** Problems specific to this operation, in addition to EVERYWHERE. */
  problems: ProblemsOf;
  permissions: (input: Input<z.output<P>, z.output<Q>, z.output<B>>) => Permission[];
  /** A required permission that does not depend on the body, checked before a long body is read. */
  first?: (params: z.output<P>) => Permission;
  /** Type of the audit event of a mutating operation, e.g. `management_workload_deleted`. */
  audit?: `management_${string}`;
  run: (input: Input<z.output<P>, z.output<Q>, z.output<B>>, services: Services) => Promise<Answer<z.input<R>>>;
}

/**
 * One operation of the API. Routes, checks, OpenAPI and the reference docs are generated from the table of operations.
 */
export interface Operation extends Omit<
  Definition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>,
  'run' | 'permissions' | 'first'
> {
  /** Checks the permission that does not depend on the body. @throws Problem */
  checkFirst(request: Pick<RawRequest, 'params' | 'caller'>): Promise<void>;
  /** Validates the request and checks the permissions of the caller. @throws Problem */
  check(request: RawRequest): Promise<void>;
  /** Checks the request as `check` does, then runs the operation. @throws Problem */
  call(request: RawRequest, services: Services): Promise<Answer<unknown>>;
}

/** Operation with the types of its schemas, for callers in this program. */
export type TypedOperation<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  R extends z.ZodType,
> = Operation & Pick<Definition<P, Q, B, R>, 'params' | 'query' | 'body' | 'result'>;

export function operation<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  definition: Definition<P, Q, B, R>,
): TypedOperation<P, Q, B, R> {
  const { permissions, first, run, ...described } = definition;
  const admit = async (request: RawRequest) => {
    const input = {
      ...request,
      ifMatch: request.ifMatch,
      params: read(definition.params, request.params, 'path'),
      query: read(definition.query, request.query, 'query'),
      body: read(definition.body, request.body, 'body'),
    };
    for (const permission of permissions(input)) await request.caller.check(permission);
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
    call: async (request, services) => run(await admit(request), services),
  };
}

/** @throws Problem `bad_request` that names the invalid fields and the remedies */
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
/** Spread into a definition, which states only the differences. */
export const PLAIN = { params: NoParams, query: NoQuery, body: NoBody, success: 200 } as const;

/** Problems that any operation may answer, with the case of each. */
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
