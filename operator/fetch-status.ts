import { request } from 'node:http';
import { SILENT } from './last-heard.ts';

/** A runtime that is asked at /status. */
interface Asked {
  /** An address, v4 or v6. */
  host: string;
  port: number;
  /** Tried in order: a runtime that has not got the newest yet takes the one before. */
  tokens: readonly string[];
  /** Milliseconds for each of them. */
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

/**
 * What a runtime says of itself, as `read` understands it; undefined while none serves there or where `read` throws, and `silent` where
 * it says nothing until the deadline.
 */
export async function fetchStatus<Said>(
  asked: Asked,
  read: (value: unknown) => Said,
): Promise<Said | typeof SILENT | undefined> {
  try {
    for (const token of asked.tokens) {
      const { code, text } = await ask(asked, token);
      if (code === 200) return read(JSON.parse(text));
      if (code !== 401) return undefined;
    }
  } catch (problem) {
    if (problem instanceof NoAnswerInTime) return SILENT;
    // It does not listen yet, or not any more.
  }
  return undefined;
}
