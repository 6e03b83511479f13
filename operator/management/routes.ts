import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import type { Operation, RawRequest } from './operation.ts';
import { Problem, problemOf } from './problem.ts';
import type { ServedRequest, Served } from './served-request.ts';

export const BASE = '/api/v1beta';

/** Largest body: two resources of the API server's greatest size. */
const LONGEST_BODY = 4 * 1024 * 1024;

/** Routes of every operation. `serve` knows who asks and what stands behind the operation. */
export function createRoutes(operations: readonly Operation[], serve: ServedRequest): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use((request, _response, next) => {
    serve.admit(request);
    next();
  });
  app.use(express.json({ limit: LONGEST_BODY, strict: false, type: 'application/json' }));
  for (const [path, methods] of byPath(operations)) {
    const route = app.route(BASE + path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const operation of methods) {
      const name = operation.method.toLowerCase() as 'get' | 'post' | 'put' | 'delete';
      route[name](async (request, response) => {
        await answer(operation, request, response, serve);
      });
    }
    const allow = methods.map(({ method }) => method).join(', ');
    route.all(() => {
      throw new Problem('method_not_allowed', `this path takes ${allow}`, { headers: { Allow: allow } });
    });
  }
  app.use(() => {
    throw new Problem('not_found', `there is nothing at this path; operations are below ${BASE}`);
  });
  app.use(answerProblem(serve));
  return app;
}

function byPath(operations: readonly Operation[]): Map<string, Operation[]> {
  return Map.groupBy(operations, ({ path }) => path);
}

async function answer(operation: Operation, request: Request, response: Response, serve: ServedRequest): Promise<void> {
  const { method, params, query } = request;
  if (method !== 'GET' && !request.is('application/json') && hasBody(request))
    throw new Problem('unsupported_media_type', 'send the body as application/json');
  const raw: Omit<RawRequest, 'caller' | 'signal'> = {
    params: { ...params },
    query: { ...query },
    body: hasBody(request) ? (request.body as unknown) : undefined,
    ifMatch: request.get('if-match'),
  };
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const served: Served = await serve.run(operation, raw, request, gone.signal);
  if (served.etag !== undefined) response.setHeader('ETag', served.etag);
  response.setHeader('Cache-Control', 'no-store');
  if (served.lines) {
    await writeLines(response, operation, served.lines);
    return;
  }
  response.status(operation.success);
  if (served.body === undefined) response.end();
  else response.json(served.body);
}

function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** A reader that is slow holds the source back, and nothing else. */
async function writeLines(
  response: Response,
  { success, media }: Operation,
  lines: AsyncIterable<string>,
): Promise<void> {
  response.status(success).setHeader('Content-Type', media ?? 'text/plain; charset=utf-8');
  for await (const line of lines) {
    if (response.destroyed) return;
    if (!response.write(line))
      await new Promise((resolve) => void response.once('drain', resolve).once('close', resolve));
  }
  response.end();
}

/** The one place that turns errors into answers. */
function answerProblem(serve: ServedRequest): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const problem = problemOf(ofExpress(error));
    serve.failed(request, problem);
    response.set(problem.headers).set('Cache-Control', 'no-store');
    response.status(problem.status).type('application/problem+json').send(JSON.stringify(problem.body));
  };
}

/** What express' body reader and router throw. */
function ofExpress(error: unknown): unknown {
  if (!(error instanceof Error) || !('status' in error)) return error;
  if (error.status === 413) return new Problem('too_large', `the body is longer than ${LONGEST_BODY} bytes`);
  if (error.status === 415) return new Problem('unsupported_media_type', 'send the body as application/json in UTF-8');
  if (typeof error.status === 'number' && error.status >= 400 && error.status < 500)
    return new Problem('bad_request', 'the request cannot be read: write valid JSON, and valid escapes in the path');
  return error;
}
