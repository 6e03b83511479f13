import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../local/run-vmcp.ts';
import type { OpenStream, Rpc } from './session-client.ts';

const isChange = ({ method }: Rpc) => method === 'notifications/tools/list_changed';

/** Waits until the client knows these tools and no others, in any order. */
type Knows = (...names: string[]) => Promise<void>;

/**
 * Follows what a client knows that lists the tools when it hears on its stream that they changed, and at no other time. One list after
 * one notification would prove less: the notification may be late news of an earlier change. `patience` in milliseconds.
 */
export async function followTools(stream: OpenStream, list: () => Promise<string[]>, patience: number): Promise<Knows> {
  const news = () => stream.messages().filter(isChange).length;
  let heard = news();
  let listed = await list();
  const known = async () => {
    if (news() > heard) {
      heard = news();
      listed = await list();
    }
    return listed.sort();
  };
  return async (...names) => {
    await eventually(known, (now) => isDeepStrictEqual(now, names.sort()), patience);
  };
}
