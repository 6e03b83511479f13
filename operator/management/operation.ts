import { z } from 'zod';
import { explainIssues } from '#crds/parts/explain';
import { Problem, type ProblemCode } from './problem.ts';
import type { Rooms } from './rooms.ts';

/** What a caller must be allowed to do, in the words of Kubernetes RBAC. */
export interface Touch {
  verb: 'get' | 'list' | 'create' | 'update' | 'delete';
  /** Plural name within our API group: `mcpservers`, `clients`, `skills`. */
  resource: string;
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
  /** The entity tag that the caller read (`If-Match`, RFC 9110 §13.1.1). */
  ifMatch?: string | undefined;
  caller: Caller;
  /** Aborted when nobody waits any more, or the deadline is over. */
  signal: AbortSignal;
}

export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  ifMatch: string | undefined;
  caller: Caller;
  signal: AbortSignal;
}

export interface Answer<R> {
  body: R;
  /** Entity tag of what was read or written. */
  etag?: string;
  /** In place of a body: lines as they come. */
  lines?: AsyncIterable<string>;
}

interface Definition<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** Number in the specification's table; absent for those besides. */
  number?: number;
  /** OpenAPI operationId. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base, with parameters in braces: `/workloads/{name}`. */
  path: string;
  summary: string;
  params: P;
  query: Q;
  /** z.undefined() where there is none. */
  body: B;
  success: 200 | 201 | 202 | 204;
  /** z.undefined() for an answer without a body; what is sent is checked against it in tests. */
  result: R;
  /** Media type of the answer when it is not JSON: `text/plain` for lines. */
  media?: string;
  /** Codes of its own, beside those that every operation may answer. */
  problems: readonly ProblemCode[];
  touches: (input: Input<z.output<P>, z.output<Q>, z.output<B>>) => Touch[];
  /** Type of the audit event of an operation that changes something, e.g. `workload_deleted`. */
  audit?: string;
  run: (input: Input<z.output<P>, z.output<Q>, z.output<B>>, rooms: Rooms) => Promise<Answer<z.input<R>>>;
}

/** One operation of the API: a row of the table from which routes, checks, OpenAPI and the reference docs are made. */
export interface Operation extends Omit<
  Definition<z.ZodType, z.ZodType, z.ZodType, z.ZodType>,
  'run' | 'touches' | 'problems'
> {
  problems: readonly ProblemCode[];
  /** Checks the request, asks whether the caller may, and does it. @throws Problem */
  call(request: RawRequest, rooms: Rooms): Promise<Answer<unknown>>;
}

export function operation<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
  definition: Definition<P, Q, B, R>,
): Operation {
  const { touches, run, ...described } = definition;
  return {
    ...described,
    async call(request, rooms) {
      const input = {
        ...request,
        ifMatch: request.ifMatch,
        params: read(definition.params, request.params, 'path'),
        query: read(definition.query, request.query, 'query'),
        body: read(definition.body, request.body, 'body'),
      };
      for (const touch of touches(input)) await request.caller.check(touch);
      return run(input, rooms);
    },
  };
}

/** @throws Problem `bad_request` that names every field and remedy */
function read<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const source = { file: where, lineOf: () => undefined, schema };
  throw new Problem('bad_request', explainIssues(result.error, source).join('. '));
}

export const NoParams = z.strictObject({});
export const NoQuery = z.strictObject({});
export const NoBody = z.undefined();
export const Nothing = z.undefined();

/** Problems that any operation may answer. */
export const EVERYWHERE = [
  'bad_request',
  'unauthenticated',
  'forbidden',
  'foreign_host',
  'method_not_allowed',
  'too_large',
  'unsupported_media_type',
  'too_many_requests',
  'internal',
  'unavailable',
] as const satisfies readonly ProblemCode[];
