import { request } from 'node:http';
import { NO_ANSWER } from './last-probe.ts';

interface Asked {
  /** IPv4 or IPv6 address. */
  host: string;
  port: number;
  /** Tried in order: a runtime that lacks the newest token accepts the previous one. */
  tokens: readonly string[];
  /** Milliseconds per token. */
  deadline: number;
  /** Characters. */
  longest: number;
}

class NoAnswerInTime extends Error {}

interface Answer {
  code: number;
  text: string;
}

function ask({ host, port, deadline, longest }: Asked, token: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(deadline);
    const fail = (problem: Error) => reject(signal.aborted ? new NoAnswerInTime() : problem);
    const asked = request({ host, port, path: '/status', headers, agent: false, signal }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
        if (text.length > longest) asked.destroy(new Error('the status is too long'));
      });
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text }));
      answer.on('error', fail);
    });
    asked.on('error', fail);
    asked.end();
  });
}

/** Returns the status parsed by `read`; undefined if no runtime answers or `read` throws; NO_ANSWER if nothing comes until the deadline. */
export async function fetchStatus<Status>(
  asked: Asked,
  read: (value: unknown) => Status,
): Promise<Status | typeof NO_ANSWER | undefined> {
  try {
    for (const token of asked.tokens) {
      const { code, text } = await ask(asked, token);
      if (code === 200) return read(JSON.parse(text));
      if (code !== 401) return undefined;
    }
  } catch (problem) {
    if (problem instanceof NoAnswerInTime) return NO_ANSWER;
    // The runtime does not listen yet, or has stopped.
  }
  return undefined;
}
