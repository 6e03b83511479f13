import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../local/run-vmcp.ts';
import type { OpenStream, Rpc } from './session-client.ts';

const isChange = ({ method }: Rpc) => method === 'notifications/tools/list_changed';

/** Waits until the client knows exactly these tools, in any order. */
type Knows = (...names: string[]) => Promise<void>;

/**
 * Follows the tools of a client that lists them only after list-changed notifications on its stream. It lists after every notification,
 * because a late one may report an earlier change. `patience`: milliseconds.
 */
export async function followTools(stream: OpenStream, list: () => Promise<string[]>, patience: number): Promise<Knows> {
  const changes = () => stream.messages().filter(isChange).length;
  let received = changes();
  let listed = await list();
  const known = async () => {
    if (changes() > received) {
      received = changes();
      listed = await list();
    }
    return listed.sort();
  };
  return async (...names) => {
    await eventually(known, (now) => isDeepStrictEqual(now, names.sort()), patience);
  };
}
