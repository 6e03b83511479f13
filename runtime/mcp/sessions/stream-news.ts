import type { GeneralStream } from '#runtime/mcp/session-era/general-stream';

/**
 * Takes note that a client opened the stream `id`. All replicas hear of the streams of a session in the same order, and the last one
 * stays: a stream that is not told yet comes later than `id`.
 */
export function takeStreamNews(own: Pick<GeneralStream, 'id' | 'isTold' | 'close'> | undefined, id: string): void {
  if (own?.id === id) own.isTold = true;
  else if (own?.isTold === true) own.close();
}
