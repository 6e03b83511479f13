import { request } from 'node:http';
import { isIPv6 } from 'node:net';
import { z } from 'zod';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { SILENT } from '#operator/last-heard';

const DEADLINE = 3000;
/** Characters. What many pods say is held at once, and whoever may start pods may start many. */
const LARGEST = 1024 * 1024;
const PRIVATE_PORT = 4484;

/** What a pod says of itself, and a keyed HMAC of each secret file by the path that its document names. */
export interface PodStatus {
  status: RuntimeStatus;
  secretFiles: Record<string, string>;
}

const SecretFiles = z.object({ secret_files: z.record(z.string(), z.string()).default({}) });

class NoAnswerInTime extends Error {}

interface Answer {
  code: number;
  text: string;
}

function ask(url: string, token: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(DEADLINE);
    const fail = (problem: Error) => reject(signal.aborted ? new NoAnswerInTime() : problem);
    const asked = request(url, { headers, agent: false, signal }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
        if (text.length > LARGEST) asked.destroy(new Error('the status is too long'));
      });
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, text }));
      answer.on('error', fail);
    });
    asked.on('error', fail);
    asked.end();
  });
}

function read(text: string): PodStatus {
  const value: unknown = JSON.parse(text);
  return { status: RuntimeStatus.parse(value), secretFiles: SecretFiles.parse(value).secret_files };
}

/**
 * What the runtime of a pod says at /status; undefined while none serves there, and `silent` where it says nothing for 3 s. The
 * tokens are tried in order: a pod that has not got the newest yet takes the one before.
 */
export async function fetchPodStatus(
  ip: string,
  tokens: readonly string[],
  port = PRIVATE_PORT,
): Promise<PodStatus | typeof SILENT | undefined> {
  const url = `http://${isIPv6(ip) ? `[${ip}]` : ip}:${port}/status`;
  try {
    for (const token of tokens) {
      const { code, text } = await ask(url, token);
      if (code === 200) return read(text);
      if (code !== 401) return undefined;
    }
  } catch (problem) {
    if (problem instanceof NoAnswerInTime) return SILENT;
    // It does not listen yet, or not any more.
  }
  return undefined;
}
