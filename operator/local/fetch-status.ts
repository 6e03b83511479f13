import { request } from 'node:http';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { SILENT } from '#operator/last-heard';

const DEADLINE = 2000;
const LARGEST = 8 * 1024 * 1024;

class NoAnswerInTime extends Error {}

function fetchText(port: number, token: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const asked = request({ host: '127.0.0.1', port, path: '/status', headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
        if (text.length > LARGEST) asked.destroy(new Error('the status is too long'));
      });
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`/status answered ${answer.statusCode ?? 'nothing'}`));
      });
      answer.on('error', reject);
    });
    const timer = setTimeout(() => asked.destroy(new NoAnswerInTime()), DEADLINE);
    asked.on('error', reject);
    asked.on('close', () => clearTimeout(timer));
    asked.end();
  });
}

/** What a runtime of this machine says of itself; undefined while none serves there, and `silent` where one says nothing for 2 s. */
export async function fetchStatus(port: number, token: string): Promise<RuntimeStatus | typeof SILENT | undefined> {
  try {
    return RuntimeStatus.parse(JSON.parse(await fetchText(port, token)));
  } catch (problem) {
    return problem instanceof NoAnswerInTime ? SILENT : undefined;
  }
}
