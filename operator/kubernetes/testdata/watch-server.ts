import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KubeObject } from '../api/object.ts';
import { FakeApiServer, statusBody } from './fake-api-server.ts';

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: object | string;
}

interface Event {
  version: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubeObject;
}

interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
}

/**
 * Serves one resource, `/apis/vmcp.dev/v1alpha1/things`, with list and watch over HTTP: pages, history, bookmarks, and each fault on
 * command.
 */
export class WatchServer extends FakeApiServer {
  readonly requests: Seen[] = [];
  /** Used instead of the next answer to a list, a watch or another request. */
  readonly nextLists: Answer[] = [];
  readonly nextWatches: Answer[] = [];
  readonly nextAnswers: Answer[] = [];
  /** Answers no request. */
  hold = false;
  /** Sends answers byte by byte. */
  trickle = false;
  readonly #objects = new Map<string, KubeObject>();
  readonly #watches = new Set<{ response: ServerResponse; namespace: string | undefined }>();
  #history: Event[] = [];
  #version = 100;
  #forgotten = 0;

  count(what: 'list' | 'watch'): number {
    return this.requests.filter(({ query }) => query.has('watch') === (what === 'watch')).length;
  }

  put(name: string, fields: object = {}, namespace = 'ns'): void {
    const place = `${namespace}/${name}`;
    const type = this.#objects.has(place) ? 'MODIFIED' : 'ADDED';
    const version = ++this.#version;
    const metadata = { name, namespace, uid: `uid-${name}`, resourceVersion: String(version) };
    const object = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'Thing', metadata, ...fields };
    this.#objects.set(place, object);
    this.#happen({ version, type, object });
  }

  remove(name: string, namespace = 'ns'): void {
    const object = this.#objects.get(`${namespace}/${name}`);
    if (!object) throw new Error(`no object ${name}`);
    this.#objects.delete(`${namespace}/${name}`);
    const version = ++this.#version;
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    this.#happen({ version, type: 'DELETED', object: { ...object, metadata } });
  }

  /** Expires all current versions for watches. */
  forgetHistory(): void {
    this.#history = [];
    this.#forgotten = ++this.#version;
  }

  sendBookmark(): void {
    const version = ++this.#version;
    const object = { kind: 'Thing', apiVersion: 'vmcp.dev/v1alpha1', metadata: { resourceVersion: String(version) } };
    this.sendLine(JSON.stringify({ type: 'BOOKMARK', object }));
  }

  sendLine(line: string): void {
    for (const { response } of this.#watches) response.write(`${line}\n`);
  }

  /** Ends all watches like an API server at their timeout. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end();
    this.#watches.clear();
  }

  /** Breaks the connections. */
  cutWatches(): void {
    for (const { response } of this.#watches) response.destroy();
    this.#watches.clear();
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  override close(): Promise<void> {
    this.cutWatches();
    return super.close();
  }

  #happen(event: Event): void {
    this.#history.push(event);
    for (const { response, namespace } of this.#watches) {
      if (namespace === undefined || namespace === event.object.metadata.namespace) writeEvent(response, event);
    }
  }

  protected serve(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { pathname, searchParams: query } = new URL(request.url ?? '/', this.url);
    this.requests.push({ method: request.method ?? '', path: pathname, query, headers: request.headers, body });
    const namespace = /\/namespaces\/([^/]+)\/things$/.exec(pathname)?.[1];
    if (this.hold) return;
    if (this.trickle) {
      response.writeHead(200, { 'content-type': 'application/json' });
      const writing = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(writing));
      return;
    }
    if (request.method !== 'GET' || !pathname.endsWith('/things')) {
      answer(response, this.nextAnswers.shift() ?? { status: 200, body: body === '' ? {} : body });
    } else if (query.has('watch')) this.#watch(response, query, namespace);
    else this.#list(response, query, namespace);
  }

  #list(response: ServerResponse, query: URLSearchParams, namespace: string | undefined): void {
    const ordered = this.nextLists.shift();
    if (ordered) {
      answer(response, ordered);
      return;
    }
    const all = [...this.#objects.values()].filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    );
    const from = Number(query.get('continue') ?? 0);
    const to = from + Number(query.get('limit') ?? all.length);
    const metadata = { resourceVersion: String(this.#version), ...(to < all.length && { continue: String(to) }) };
    const items = all.slice(from, to);
    answer(response, { status: 200, body: { kind: 'ThingList', apiVersion: 'vmcp.dev/v1alpha1', metadata, items } });
  }

  #watch(response: ServerResponse, query: URLSearchParams, namespace: string | undefined): void {
    const ordered = this.nextWatches.shift();
    const from = Number(query.get('resourceVersion'));
    if (ordered) {
      answer(response, ordered);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (from < this.#forgotten) {
      response.end(`${JSON.stringify({ type: 'ERROR', object: statusBody(410, 'Expired', 'too old') })}\n`);
      return;
    }
    for (const event of this.#history) if (event.version > from) writeEvent(response, event);
    const watch = { response, namespace };
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
  }
}

function writeEvent(response: ServerResponse, { type, object }: Event): void {
  response.write(`${JSON.stringify({ type, object })}\n`);
}

function answer(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
