import type { Rooms } from '#runtime/rooms';
import type { SseEndpoint } from './sse-endpoint.ts';

/** Returns the endpoint of the HTTP+SSE transport if the active configuration enables it. Checks again after each reload. */
export function followSseEndpoint(rooms: () => Rooms): () => Promise<SseEndpoint | undefined> {
  let endpoint: SseEndpoint | undefined;
  return async () => {
    if (rooms().config.proxy_mode !== 'sse') {
      endpoint?.close();
      return undefined;
    }
    // Loaded on first use: most configurations do not enable it.
    const { SseEndpoint: Endpoint } = await import('./sse-endpoint.ts');
    return (endpoint ??= new Endpoint(rooms));
  };
}
