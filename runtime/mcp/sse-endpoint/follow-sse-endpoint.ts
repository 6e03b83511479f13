import type { Rooms } from '#runtime/rooms';
import type { SseEndpoint } from './sse-endpoint.ts';

/** The endpoint of the HTTP+SSE transport while the configuration in force asks for it, asked anew after each reload. */
export function followSseEndpoint(rooms: () => Rooms): () => Promise<SseEndpoint | undefined> {
  let endpoint: SseEndpoint | undefined;
  return async () => {
    if (rooms().config.proxy_mode !== 'sse') {
      endpoint?.close();
      return undefined;
    }
    // Loaded when the first configuration asks for it: most have none.
    const { SseEndpoint: Endpoint } = await import('./sse-endpoint.ts');
    return (endpoint ??= new Endpoint(rooms));
  };
}
