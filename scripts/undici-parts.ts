// The parts of undici that the programs use. Its index also loads fetch, WebSocket, caches and mocks.
import type { Dispatcher } from 'undici';
import apiRequest from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';

export { Agent, EnvHttpProxyAgent, Pool };

type Options = Omit<Dispatcher.RequestOptions, 'origin' | 'path' | 'method'> & {
  readonly dispatcher: Dispatcher;
  readonly method?: Dispatcher.HttpMethod;
};

/** Calls `undici.request` with a required dispatcher. */
export function request(url: string | URL, { dispatcher, method = 'GET', ...options }: Options) {
  const { origin, pathname, search } = new URL(url);
  return apiRequest.call(dispatcher, { ...options, method, origin, path: pathname + search });
}
