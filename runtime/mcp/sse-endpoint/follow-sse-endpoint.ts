import type { Services } from '#runtime/services';
import type { SseEndpoint } from './sse-endpoint.ts';

/** Undefined while the active configuration does not enable it. */
export function followSseEndpoint(services: () => Services): () => Promise<SseEndpoint | undefined> {
  let endpoint: SseEndpoint | undefined;
  return async () => {
    if (services().config.proxy_mode !== 'sse') {
      endpoint?.close();
      return undefined;
    }
    // Loaded on first use: most configurations do not enable it.
    const { SseEndpoint: Endpoint } = await import('./sse-endpoint.ts');
    return (endpoint ??= new Endpoint(services));
  };
}
