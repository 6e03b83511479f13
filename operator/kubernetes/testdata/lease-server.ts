import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KubeObject } from '../api/object.ts';
import { FakeApiServer, statusBody } from './fake-api-server.ts';

interface LeaseObject extends KubeObject {
  spec: { holderIdentity: string; leaseDurationSeconds: number; leaseTransitions: number; renewTime: string };
}

/** Stores one Lease like an API server: a write with an outdated version is a conflict. */
export class LeaseServer extends FakeApiServer {
  lease: LeaseObject | undefined;
  /** Answers every request with 503. */
  down = false;
  /** Executes requests, and breaks the connection before the answer. */
  breaks = false;
  /** Delays all work until it resolves. */
  until: Promise<unknown> = Promise.resolve();
  requests = 0;
  #version = 0;

  /** Writes the Lease as another client. */
  write(spec: Partial<LeaseObject['spec']>): void {
    if (!this.lease) throw new Error('there is no Lease');
    this.#store({ ...this.lease, spec: { ...this.lease.spec, ...spec } });
  }

  protected serve(request: IncomingMessage, response: ServerResponse, body: string): void {
    this.requests += 1;
    void this.until.then(() => this.#serve(request, response, body));
  }

  #serve(request: IncomingMessage, response: ServerResponse, body: string): void {
    const [status, answer] = this.down
      ? [503, statusBody(503, 'ServiceUnavailable')]
      : this.#answer(request.method ?? '', body);
    if (this.breaks && request.method !== 'GET') {
      response.destroy();
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  }

  #answer(method: string, body: string): [number, object] {
    if (method === 'GET') return this.lease ? [200, this.lease] : [404, statusBody(404, 'NotFound')];
    const sent = JSON.parse(body) as LeaseObject;
    if (method === 'POST') return this.lease ? [409, statusBody(409, 'AlreadyExists')] : [201, this.#store(sent)];
    if (!this.lease) return [404, statusBody(404, 'NotFound')];
    const current = sent.metadata.resourceVersion === this.lease.metadata.resourceVersion;
    return current ? [200, this.#store(sent)] : [409, statusBody(409, 'Conflict')];
  }

  #store(lease: LeaseObject): LeaseObject {
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++this.#version) } };
    return this.lease;
  }
}
