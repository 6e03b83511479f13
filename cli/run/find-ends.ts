import { join } from 'node:path';
import { z } from 'zod';
import type { StateFolder } from '#local/state-folder';
import type { LocalStatus } from '#local/local-status-file';
import { lastLines } from '#local/tail-log';
import { backendChild, runtimeChildOf } from '#operator/plan/child-names';
import { shownLine, shownText } from '../shown-output.ts';
import type { ServerSummary } from '../summarise-status.ts';

export interface Ends {
  times: number;
  how: string;
  said: string;
}

/** Characters. */
const SHOWN = 300;
/** Lines of a log. */
const LINES = 500;

const Gone = z.object({
  time: z.string(),
  message: z.literal('the process of a backend is gone'),
  backend: z.string(),
  reason: z.string(),
  said: z.string().default(''),
});

function goneIn(line: string): z.infer<typeof Gone> | undefined {
  try {
    return Gone.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** `since` is in milliseconds since 1970. Programs with an address have own logs; stdio programs use their server's log. */
export function findEnds(
  workload: string,
  server: Pick<ServerSummary, 'kind' | 'name'>,
  { processes }: Pick<LocalStatus, 'processes'>,
  { logs }: Pick<StateFolder, 'logs'>,
  since: number,
): Ends | undefined {
  const child = backendChild(workload);
  const own = processes.find(({ name }) => name === child);
  if (own?.lastEnd !== undefined) {
    const [said = ''] = lastLines(join(logs, `${child}.log`), 1, false).lines;
    const times = own.restarts + (own.state === 'waiting' ? 1 : 0);
    return { times, how: own.lastEnd, said: shownLine(said).slice(0, SHOWN) };
  }
  const { lines } = lastLines(join(logs, `${runtimeChildOf(server)}.log`), LINES, false);
  const all = lines.flatMap((line) => goneIn(line) ?? []);
  const ends = all.filter(({ backend, time }) => backend === workload && Date.parse(time) >= since);
  const last = ends.at(-1);
  return last && { times: ends.length, how: last.reason, said: shownText(last.said).trim() };
}

export function tellEnds({ times, how, said }: Ends): string {
  const often = times > 1 ? `, ${times} times` : '';
  if (said === '') return `its program ${how}${often}`;
  return `its program ${how}${often}, and said:${said.includes('\n') ? `\n${said.replaceAll(/^/gm, '  ')}` : ` ${said}`}`;
}
