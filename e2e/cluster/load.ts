import { setTimeout as pause } from 'node:timers/promises';
import { SessionClient } from '../gateway/session-client.ts';

/** Calls one after the other, in several sessions at once, until it is stopped. */
export interface Load {
  /** Structured contents of all answers so far. */
  readonly answers: Record<string, unknown>[];
  /** What went wrong: a transport error, a status, an error of the protocol or of the tool. */
  readonly failures: string[];
  stop(): Promise<void>;
}

export async function startLoad(
  { url, headers }: { url: string; headers: Record<string, string> },
  tool: string,
  { sessions = 4, every = 20 } = {},
): Promise<Load> {
  const answers: Record<string, unknown>[] = [];
  const failures: string[] = [];
  const state = { running: true };
  const clients = await Promise.all(Array.from({ length: sessions }, () => SessionClient.open(url, headers)));

  async function callOn(client: SessionClient): Promise<void> {
    while (state.running) {
      try {
        const { status, answer, text } = await client.call(tool, {});
        if (status !== 200 || !answer.result || answer.result.isError === true) failures.push(`${status} ${text}`);
        else answers.push((answer.result.structuredContent ?? answer.result) as Record<string, unknown>);
      } catch (error) {
        failures.push(String(error));
      }
      await pause(every);
    }
  }

  const running = clients.map((client) => callOn(client));
  return {
    answers,
    failures,
    async stop() {
      state.running = false;
      await Promise.all(running);
    },
  };
}
