import type { ServerResponse } from 'node:http';
import type { BufferedBytes, Keeper } from '#runtime/mcp/backends/buffered-bytes';

/** Characters up to which an answer is not counted, because most answers are small. */
const FREE = 1_048_576;

/**
 * Counts a large answer that was written in one piece, until the client has read it. A client that keeps backends waiting for memory is
 * disconnected.
 */
export function countUnread(res: ServerResponse, length: number, bufferedBytes: BufferedBytes): void {
  if (length <= FREE || res.writableLength === 0 || res.destroyed) return;
  const keeper: Keeper = { source: 'client', kept: 0, giveUp: () => void res.destroy() };
  const release = () => bufferedBytes.tell(keeper, 0);
  for (const end of ['drain', 'finish', 'close']) res.once(end, release);
  bufferedBytes.tell(keeper, length);
}
