import { z } from 'zod';
import type { OpenApiDocument } from './openapi-document.ts';
import { EVERYWHERE, type Operation } from '../operation.ts';
import { PROBLEMS, ProblemBody, type ProblemCode } from '../problem.ts';
import { BASE } from '../base.ts';

type Json = Record<string, unknown>;
/** Writes a schema with an id once, under components. */
class Schemas {
  readonly components: Record<string, Json> = {};

  of(schema: z.ZodType): Json {
    const { $defs = {}, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' });
    delete rest.$schema;
    for (const [id, definition] of Object.entries($defs)) this.components[id] = rebased(definition) as Json;
    const { id, ...own } = rest;
    if (id === undefined) return rebased(own) as Json;
    this.components[id] = rebased(own) as Json;
    return { $ref: `#/components/schemas/${id}` };
  }
}

function rebased(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(rebased);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).flatMap(([key, value]): [string, unknown][] => {
      if (key === '$ref' && typeof value === 'string')
        return [[key, value.replace('#/$defs/', '#/components/schemas/')]];
      return key === 'id' && typeof value === 'string' ? [] : [[key, rebased(value)]];
    }),
  );
}

const NAMESPACE = {
  name: 'namespace',
  in: 'query',
  description: 'Namespace that is meant. In a cluster it must be given; on one machine it is `default`.',
  schema: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 },
};
const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  description:
    'Entity tags, one of which must be that of what is there: nothing is changed when it is another by now. A weak tag matches nothing.',
  schema: { type: 'string', pattern: '^(\\*|(W/)?"[!#-~]*"(, (W/)?"[!#-~]*")*)$' },
};

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description: 'Entity tags of what the caller has: where one is that of what is there, it is not sent again.',
  schema: { type: 'string' },
};

/** The output is deterministic. */
export function renderOpenApi(operations: readonly Operation[], version: string): OpenApiDocument {
  const schemas = new Schemas();
  const paths: Record<string, Json> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = renderOperation(operation, schemas);
  const Problem = schemas.of(ProblemBody);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Management API of vmcp',
      version,
      description: 'Clients, registries, secrets, skills and workloads.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: BASE }],
    security: [{ bearer: [] }],
    paths,
    components: {
      schemas: { ...schemas.components, Problem },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token file of this machine, or a token for audience vmcp-management.',
        },
      },
    },
  };
}

function renderOperation(operation: Operation, schemas: Schemas): Json {
  const { id, summary, body, path } = operation;
  const sent = body.safeParse(undefined).success && isNothing(body) ? undefined : schemas.of(body);
  return {
    operationId: id,
    summary,
    tags: [path.split('/')[1] ?? ''],
    parameters: [
      ...parametersOf(operation.params, 'path', schemas),
      ...parametersOf(operation.query, 'query', schemas),
      ...(operation.namespaced === false ? [] : [NAMESPACE]),
      ...(operation.takesTag ? [IF_MATCH] : []),
      ...(operation.tagsAll ? [IF_NONE_MATCH] : []),
    ],
    ...(sent && {
      requestBody: { required: !body.safeParse(undefined).success, content: { 'application/json': { schema: sent } } },
    }),
    responses: { ...successOf(operation, schemas), ...problemsOf(operation) },
  };
}

const isNothing = (schema: z.ZodType): boolean => schema.type === 'undefined';

function parametersOf(schema: z.ZodType, where: 'path' | 'query', schemas: Schemas): Json[] {
  const { properties = {}, required = [] } = schemas.of(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...form }]) => ({
    name,
    in: where,
    ...(description !== undefined && { description }),
    ...(required.includes(name) && { required: true }),
    schema: form,
  }));
}

function successOf({ success, result, media, givesTag, tagsAll }: Operation, schemas: Schemas): Json {
  const type = media?.split(';')[0] ?? 'application/json';
  const content = isNothing(result)
    ? media === undefined
      ? {}
      : { content: { [type]: { schema: { type: 'string' } } } }
    : { content: { [type]: { schema: schemas.of(result) } } };
  const headers = { ETag: { description: 'Version of what was read or written.', schema: { type: 'string' } } };
  return {
    [success]: { description: SAID[success], ...(givesTag && { headers }), ...content },
    ...(tagsAll && { 304: { description: 'The caller has it (`If-None-Match`).', headers } }),
  };
}

const SAID = { 200: 'Done.', 201: 'Made.', 202: 'Accepted; it goes on in the background.', 204: 'Gone.' } as const;

/** Maps each problem to the case in which it occurs. */
export function allProblems({ problems, takesTag, namespaced }: Operation): [ProblemCode, string][] {
  const tagged = takesTag ? { stale: 'it has changed since the entity tag of If-Match' } : {};
  // Operations without a namespace are open to every authenticated caller.
  const needless = namespaced === false ? { namespace_missing: undefined, forbidden: undefined } : {};
  const all: Partial<Record<ProblemCode, string | undefined>> = { ...EVERYWHERE, ...needless, ...tagged, ...problems };
  return (Object.keys(PROBLEMS) as ProblemCode[]).flatMap((code) => {
    const when = all[code];
    return when === undefined ? [] : [[code, when]];
  });
}

function problemsOf(operation: Operation): Json {
  const byStatus = Map.groupBy(allProblems(operation), ([code]) => PROBLEMS[code][0]);
  const schema = { $ref: '#/components/schemas/Problem' };
  return Object.fromEntries(
    [...byStatus].map(([status, problems]) => [
      String(status),
      {
        description: problems.map(([code, when]) => `\`${code}\`: ${when}.`).join(' '),
        content: { 'application/problem+json': { schema } },
      },
    ]),
  );
}
