import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KubeApi, OnRequest } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { FakeApiServer, statusBody } from './fake-api-server.ts';

interface Call {
  method: string;
  path: string;
  body: unknown;
}

/**
 * Stores objects by path like an API server, as far as the platform requires. Server-side apply creates missing objects and refuses
 * another version or uid. An unchanged object keeps its version.
 */
export class ObjectServer extends FakeApiServer {
  readonly calls: Call[] = [];
  /** Used instead of the next answer. */
  readonly nextAnswers: { status: number; body: object }[] = [];
  readonly #objects = new Map<string, KubeObject>();
  readonly #apis: KubeApi[] = [];
  #version = 100;
  #uid = 0;

  /** Returns a client that is closed with the server. */
  override api(onRequest?: OnRequest): KubeApi {
    const api = super.api(onRequest);
    this.#apis.push(api);
    return api;
  }

  override async close(): Promise<void> {
    await Promise.all(this.#apis.splice(0).map((api) => api.close()));
    await super.close();
  }

  /** Returns the object at a path, e.g. `/api/v1/namespaces/ns/secrets/a`. */
  at(path: string): KubeObject | undefined {
    return this.#objects.get(path);
  }

  /** Writes an object as another client. */
  put(path: string, object: object): KubeObject {
    return this.#store(path, object as KubeObject);
  }

  remove(path: string): void {
    this.#objects.delete(path);
  }

  writes(): string[] {
    return this.calls.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
  }

  protected serve(request: IncomingMessage, response: ServerResponse, text: string): void {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://server');
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    this.calls.push({ method: request.method ?? '', path, body });
    const { status, body: answer } = this.nextAnswers.shift() ?? this.#answer(request.method ?? '', path, body, query);
    const isPartial = request.headers.accept?.includes('PartialObjectMetadata') === true;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isPartial ? metadataOf(answer) : answer));
  }

  #answer(method: string, path: string, body: unknown, query: URLSearchParams): { status: number; body: object } {
    const place = path.replace(/\/status$/, '');
    const live = this.#objects.get(place);
    if (method === 'POST') return this.#create(path, body as KubeObject);
    if (method === 'PATCH') return this.#apply(place, live, body as KubeObject, query.has('dryRun'));
    if (method === 'GET' && /\/[a-z]+s$/.test(path) && !live) return this.#list(path, query);
    if (!live) return { status: 404, body: statusBody(404, 'NotFound') };
    if (method === 'PUT') return this.#replace(path, live, body as KubeObject);
    if (method === 'DELETE') return this.#delete(path, live, body);
    return { status: 200, body: live };
  }

  #create(path: string, made: KubeObject): { status: number; body: object } {
    const place = `${path}/${made.metadata.name}`;
    if (this.#objects.has(place)) return { status: 409, body: statusBody(409, 'AlreadyExists') };
    return { status: 201, body: this.#store(place, made) };
  }

  /** Returns the objects below a path with a label (`name=value`), one page of the requested size. */
  #list(path: string, query: URLSearchParams): { status: number; body: object } {
    const [label = '', value] = (query.get('labelSelector') ?? '').split('=');
    const from = Number(query.get('continue'));
    const to = from + Number(query.get('limit') ?? Infinity);
    const items = [...this.#objects]
      .filter(([place]) => place.startsWith(`${path}/`))
      .map(([, object]) => object)
      .filter(({ metadata }) => label === '' || metadata.labels?.[label] === value);
    const metadata = { resourceVersion: '1', ...(to < items.length && { continue: String(to) }) };
    return { status: 200, body: { apiVersion: 'v1', kind: 'List', metadata, items: items.slice(from, to) } };
  }

  #replace(path: string, live: KubeObject, object: KubeObject): { status: number; body: object } {
    const { resourceVersion = live.metadata.resourceVersion } = object.metadata;
    if (resourceVersion !== live.metadata.resourceVersion) return { status: 409, body: statusBody(409, 'Conflict') };
    return { status: 200, body: this.#store(path, object) };
  }

  #delete(path: string, live: KubeObject, options: unknown): { status: number; body: object } {
    const { resourceVersion, uid } = (options as { preconditions?: Record<string, string> }).preconditions ?? {};
    const { metadata } = live;
    if (
      (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion ||
      (uid ?? metadata.uid) !== metadata.uid
    )
      return { status: 409, body: statusBody(409, 'Conflict') };
    this.#objects.delete(path);
    return { status: 200, body: live };
  }

  #apply(path: string, live: KubeObject | undefined, object: KubeObject, isTrial: boolean) {
    const { resourceVersion = live?.metadata.resourceVersion, uid = live?.metadata.uid } = object.metadata;
    if (live && resourceVersion !== live.metadata.resourceVersion) {
      return { status: 409, body: statusBody(409, 'Conflict') };
    }
    if (live && uid !== live.metadata.uid) {
      const causes = [{ reason: 'FieldValueInvalid', field: 'metadata.uid' }];
      return { status: 422, body: statusBody(422, 'Invalid', '', { causes }) };
    }
    const metadata = { ...live?.metadata, ...object.metadata };
    return { status: live ? 200 : 201, body: isTrial ? { ...live, ...object, metadata } : this.#store(path, object) };
  }

  #store(path: string, object: KubeObject): KubeObject {
    const live = this.#objects.get(path);
    const { uid = `uid-${++this.#uid}` } = live?.metadata ?? {};
    const bare = (one: KubeObject | undefined) =>
      JSON.stringify({ ...one, metadata: { ...one?.metadata, resourceVersion: undefined, uid: undefined } });
    const metadata = { ...live?.metadata, ...object.metadata, uid };
    const stored = { ...live, ...object, metadata };
    const resourceVersion = bare(stored) === bare(live) ? live?.metadata.resourceVersion : String(++this.#version);
    this.#objects.set(path, { ...stored, metadata: { ...metadata, resourceVersion: resourceVersion ?? '' } });
    return this.#objects.get(path) ?? stored;
  }
}

/** Reduces a list to a metadata-only answer. */
function metadataOf(answer: object): object {
  const { items } = answer as { items?: KubeObject[] };
  if (!items) return answer;
  return { ...answer, items: items.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata })) };
}
