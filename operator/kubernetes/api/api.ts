import { Semaphore } from '#lib/limits/semaphore';
import { BOUNDS } from '#operator/memory-bounds';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import { DEADLINE, type Deadlines, describe, type Exchange, exchange, isSilence, unanswered } from './exchange.ts';
import { type KubeObject, pathOf, type ObjectKey, placeIn, type Resource } from './object.ts';
import { METADATA, METADATA_LIST, PATCH_TYPES } from './media-types.ts';
import { readError } from './read-error.ts';
import {
  type KubeList,
  type Longest,
  type Measured,
  type NextPage,
  readMeasured,
  readPage,
  readText,
} from './read-page.ts';
import { readEvents, type WatchEvent } from './watch-stream.ts';

export interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  metadataOnly?: boolean | undefined;
}

export interface CallOptions {
  /** Milliseconds until the call fails. Default: 30 s. */
  deadline?: number;
  signal?: AbortSignal | undefined;
}

export interface DeleteOptions extends CallOptions {
  uid?: string;
  resourceVersion?: string;
  propagation?: 'Background' | 'Foreground' | 'Orphan';
}

export interface WriteOptions extends CallOptions {
  fieldManager?: string;
  /** Stores nothing and checks everything, including unknown fields. */
  dryRun?: boolean;
}

/** Receives each finished request. `code`: HTTP status, 0 without an answer; `seconds`: duration. */
export type OnRequest = (verb: string, resource: string, code: number, seconds: number) => void;

/**
 * Every call has a deadline and fails with an `ApiError`; none is repeated here. The client library's typed calls drop fields. Its watch
 * hides unreadable events, loses Retry-After and opens a TLS connection each time, so it serves only for kubeconfigs and logins.
 */
export class KubeApi {
  readonly #connection: Connection;
  readonly #onRequest: OnRequest;
  readonly #longTexts = new Semaphore({ total: BOUNDS.api.longTexts });

  constructor(connection: Connection, onRequest: OnRequest = () => undefined) {
    this.#connection = connection;
    this.#onRequest = onRequest;
  }

  get namespace(): string | undefined {
    return this.#connection.namespace;
  }

  /** Returns a page of at most `limit` objects, fewer if they are long; pass its `next` to continue. Without both, returns everything. */
  async list(
    resource: Resource,
    { namespace, labelSelector, fieldSelector, metadataOnly }: Selection = {},
    { limit, next, ...options }: CallOptions & { limit?: number; next?: NextPage | undefined } = {},
  ): Promise<KubeList> {
    const wanted: Exchange = {
      verb: 'list',
      resource: resource.plural,
      method: 'GET',
      path: pathOf(resource, namespace === undefined ? {} : { namespace }),
      query: { labelSelector, fieldSelector, continue: next?.token },
      ...(metadataOnly && { accept: METADATA_LIST }),
    };
    const read = (size: number | undefined, longest: Longest) =>
      this.#measured({ ...wanted, query: { ...wanted.query, limit: size?.toString() } }, longest, options);
    return readPage(read, { limit, first: next?.limit ?? limit });
  }

  async get(resource: Resource, place: ObjectKey, options: CallOptions = {}): Promise<KubeObject> {
    const path = pathOf(resource, place);
    return (await this.#json({ verb: 'get', resource: resource.plural, method: 'GET', path }, options)) as KubeObject;
  }

  async getPath(path: string, options: CallOptions = {}): Promise<unknown> {
    // Key sets have their own media type.
    return this.#json({ verb: 'get', resource: path, method: 'GET', path, accept: '*/*' }, options);
  }

  /**
   * Yields changes after `resourceVersion`, including bookmarks, until the server or `signal` ends it, or `silence` milliseconds pass.
   * @throws ApiError if refused (410 `Expired`: list again), cut off, or unreadable
   */
  async *watch(
    resource: Resource,
    { namespace, labelSelector, fieldSelector, metadataOnly }: Selection,
    {
      resourceVersion,
      signal,
      silence = DEADLINE,
      timeoutSeconds,
    }: { resourceVersion: string; signal: AbortSignal; silence?: number; timeoutSeconds?: number },
  ): AsyncGenerator<WatchEvent, void, void> {
    const wanted: Exchange = {
      verb: 'watch',
      resource: resource.plural,
      method: 'GET',
      path: pathOf(resource, namespace === undefined ? {} : { namespace }),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion,
        labelSelector,
        fieldSelector,
        timeoutSeconds: timeoutSeconds?.toString(),
      },
      ...(metadataOnly && { accept: METADATA }),
    };
    const body = await this.#send(wanted, { signal, deadline: DEADLINE, silence });
    try {
      yield* readEvents(body, resource.plural, this.#longTexts);
    } catch (problem) {
      if (isSilence(problem)) return;
      throw problem instanceof ApiError ? problem : unanswered(wanted, problem);
    }
  }

  /** Server-side apply. `object` holds every field that this manager wants. `force` takes over fields of other managers. */
  async apply(
    resource: Resource,
    object: KubeObject,
    {
      fieldManager,
      force = false,
      dryRun,
      subresource,
      ...options
    }: WriteOptions & { fieldManager: string; force?: boolean; subresource?: string },
  ): Promise<KubeObject> {
    return this.#write(
      {
        verb: 'apply',
        method: 'PATCH',
        path: pathOf(resource, placeIn(resource, object), subresource),
        query: { fieldManager, force: String(force), ...dryRunOf(dryRun) },
        body: object,
        contentType: PATCH_TYPES.apply,
      },
      resource,
      options,
    );
  }

  async patch(
    resource: Resource,
    place: ObjectKey,
    body: object,
    {
      type = 'merge',
      subresource,
      fieldManager,
      dryRun,
      ...options
    }: WriteOptions & { type?: 'merge' | 'strategic' | 'json'; subresource?: string } = {},
  ): Promise<KubeObject> {
    return this.#write(
      {
        verb: 'patch',
        method: 'PATCH',
        path: pathOf(resource, place, subresource),
        query: { fieldManager, ...dryRunOf(dryRun) },
        body,
        contentType: PATCH_TYPES[type],
      },
      resource,
      options,
    );
  }

  /** Patches the status subresource. `status` holds the changed fields; null removes one. */
  async patchStatus(
    resource: Resource,
    place: ObjectKey,
    status: object,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    return this.patch(resource, place, { status }, { ...options, subresource: 'status' });
  }

  /** Creates an object; 409 `AlreadyExists` if it exists. `subresource`, e.g. a token or an eviction, takes its owner's name. */
  async create(
    resource: Resource,
    object: KubeObject,
    { fieldManager, dryRun, subresource, ...options }: WriteOptions & { subresource?: string } = {},
  ): Promise<KubeObject> {
    const { namespace, name } = placeIn(resource, object);
    const place = { ...(namespace !== undefined && { namespace }), ...(subresource !== undefined && { name }) };
    const path = pathOf(resource, place, subresource);
    const query = { fieldManager, ...dryRunOf(dryRun) };
    return this.#write({ verb: 'create', method: 'POST', path, query, body: object }, resource, options);
  }

  /** Replaces an object with this `metadata.resourceVersion`; 409 `Conflict` if it has changed. */
  async replace(
    resource: Resource,
    object: KubeObject,
    { fieldManager, dryRun, ...options }: WriteOptions = {},
  ): Promise<KubeObject> {
    const path = pathOf(resource, placeIn(resource, object));
    const query = { fieldManager, ...dryRunOf(dryRun) };
    return this.#write({ verb: 'update', method: 'PUT', path, query, body: object }, resource, options);
  }

  /** Deletes an object. Returns false if there is none. 409 `Conflict` if its `uid` or `resourceVersion` differs from the given one. */
  async delete(
    resource: Resource,
    place: ObjectKey,
    { uid, resourceVersion, propagation = 'Background', ...options }: DeleteOptions = {},
  ): Promise<boolean> {
    const preconditions = (uid ?? resourceVersion) === undefined ? {} : { preconditions: { uid, resourceVersion } };
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: propagation, ...preconditions };
    try {
      await this.#write({ verb: 'delete', method: 'DELETE', path: pathOf(resource, place), body }, resource, options);
      return true;
    } catch (problem) {
      if (problem instanceof ApiError && problem.status === 404) return false;
      throw problem;
    }
  }

  async *stream(wanted: Exchange, limits: Deadlines): AsyncGenerator<Uint8Array, void, void> {
    yield* (await this.#send(wanted, limits)) as AsyncIterable<Uint8Array>;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #write(wanted: Omit<Exchange, 'resource'>, { plural }: Resource, options: CallOptions): Promise<KubeObject> {
    return (await this.#json({ ...wanted, resource: plural }, options)) as KubeObject;
  }

  async #measured(wanted: Exchange, longest: Longest, options: CallOptions): Promise<Measured> {
    const body = await this.#send(wanted, options);
    try {
      return await readMeasured(body, longest, { wanted, longTexts: this.#longTexts });
    } catch (cause) {
      throw cause instanceof ApiError ? cause : unanswered(wanted, cause);
    }
  }

  async #json(wanted: Exchange, options: CallOptions): Promise<unknown> {
    const body = await this.#send(wanted, options);
    try {
      const text = await readText(body, BOUNDS.api.object, { wanted, longTexts: this.#longTexts });
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw cause instanceof ApiError ? cause : unanswered(wanted, cause);
    }
  }

  async #send(wanted: Exchange, limits: Deadlines) {
    const startedAt = performance.now();
    let code = 0;
    try {
      const access = await this.#connection.authenticate();
      const answer = await exchange(this.#connection.server, wanted, access, limits);
      code = answer.statusCode;
      if (code === 401) this.#connection.forget();
      if (code >= 400) throw await readError(describe(wanted), wanted.resource, answer);
      return answer.body;
    } catch (problem) {
      throw problem instanceof ApiError ? problem : unanswered(wanted, problem);
    } finally {
      this.#onRequest(wanted.verb, wanted.resource, code, (performance.now() - startedAt) / 1000);
    }
  }
}

function dryRunOf(dryRun = false): Record<string, string> {
  return dryRun ? { dryRun: 'All', fieldValidation: 'Strict' } : {};
}
