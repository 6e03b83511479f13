import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { KubeApi, type OnRequest } from '../api/api.ts';
import { connect } from '../api/connection.ts';

/** Base of the HTTP servers that replace an API server in tests. */
export abstract class FakeApiServer {
  readonly #server = createServer((request, response) => void this.#take(request, response));

  /** Answers a request after its body has arrived. */
  protected abstract serve(request: IncomingMessage, response: ServerResponse, body: string): void;

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.serve(request, response, body);
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns a client with separate connections, configured like a kubeconfig. */
  api(onRequest?: OnRequest): KubeApi {
    const config = new KubeConfig();
    const user = { name: 'tester', token: 'a-token' };
    config.loadFromClusterAndUser({ name: 'test', server: this.url, skipTLSVerify: true }, user);
    return new KubeApi(connect(config), onRequest);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Returns a Status object in the API server's form. */
export function statusBody(code: number, reason: string, message = '', details: object = {}): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details };
}
