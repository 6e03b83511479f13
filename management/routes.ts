import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import { isKnown, readIfMatch } from './if-match.ts';
import type { Operation } from './operation.ts';
import { BASE } from './base.ts';
import { Problem, problemOf } from './problem.ts';
import { readBody } from './read-body.ts';
import type { Serving } from './serving.ts';

export function createRoutes(operations: readonly Operation[], serving: Serving): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.set('query parser', 'simple');
  app.use((request, response, next) => {
    response.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
    serving.admit(request);
    next();
  });
  for (const operation of inOrder(operations)) {
    const name = operation.method.toLowerCase() as 'get' | 'post' | 'put' | 'delete';
    app[name](BASE + operation.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (request, response) => {
      await answer(operation, request, response, serving);
    });
  }
  app.use(async (request) => {
    await serving.identify(request);
    throw refusal(operations, request);
  });
  app.use(answerProblem(serving));
  return app;
}

/** Sorts literal paths before paths with parameters: `/workloads/delete` before `/workloads/{name}`. */
function inOrder(operations: readonly Operation[]): Operation[] {
  const parameters = ({ path }: Operation) => path.split('{').length;
  return [...operations].sort((one, other) => parameters(one) - parameters(other));
}

function refusal(operations: readonly Operation[], { path, method }: Request): Problem {
  const fits = (operation: Operation) =>
    new RegExp(`^${BASE}${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  // A literal path takes precedence over a parameter with the same value.
  const [nearest] = inOrder(operations.filter(fits));
  const here = operations.filter((operation) => operation.path === nearest?.path);
  const allow = here.map((operation) => operation.method).join(', ');
  if (allow === '') return new Problem('not_found', `there is nothing at this path; operations are below ${BASE}`);
  return new Problem('method_not_allowed', `this path takes ${allow}, not ${method}`, { headers: { Allow: allow } });
}

async function answer(operation: Operation, request: Request, response: Response, serving: Serving): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const asked = {
    params: { ...request.params },
    query: { ...request.query },
    readTag: () => readIfMatch(request.get('if-match')),
    readBody: () => readBody(request),
    gone: gone.signal,
  };
  const known = operation.tagsAll ? request.get('if-none-match') : undefined;
  // Express would answer 304 for every matching tag, also for tags that do not cover the whole answer.
  delete request.headers['if-none-match'];
  const { body, etag, lines, json } = await serving.run(operation, asked, request);
  const isSame = etag !== undefined && isKnown(etag, known);
  response.status(isSame ? 304 : operation.success);
  if (etag !== undefined) response.setHeader('ETag', `"${etag}"`);
  if (isSame) response.end();
  else if (json) response.type('json').send(json);
  else if (lines) await writeLines(response, operation, lines);
  else if (body === undefined) response.end();
  else response.json(body);
}

/** Writes lines with backpressure: a slow reader slows down only the source of its own lines. */
async function writeLines(response: Response, { media }: Operation, lines: AsyncIterable<string>): Promise<void> {
  response.setHeader('Content-Type', media ?? 'text/plain; charset=utf-8');
  response.flushHeaders();
  for await (const line of lines) {
    if (response.destroyed) return;
    if (!response.write(line)) await taken(response);
  }
  response.end();
}

function taken(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

function answerProblem(serving: Serving): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const problem = problemOf(routerProblem(error));
    serving.failed(request, problem);
    if (response.headersSent) {
      next(error);
      return;
    }
    // The rest of a rejected body is not read, so the connection cannot be reused.
    if (!request.complete) response.set('Connection', 'close');
    response.set(problem.headers).status(problem.status).type('application/problem+json');
    response.send(JSON.stringify(problem.body));
  };
}

/** Converts the error that the Express router throws for an invalid percent-encoding. */
function routerProblem(error: unknown): unknown {
  if (statusOf(error) !== 400 || error instanceof Problem) return error;
  return new Problem('bad_request', 'path: not valid percent-encoding; encode each part of the path in UTF-8');
}

function statusOf(error: unknown): unknown {
  return error instanceof Error && 'status' in error ? error.status : undefined;
}
