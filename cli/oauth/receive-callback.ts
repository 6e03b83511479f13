import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { timingSafeEqual } from 'node:crypto';

/** Receives a loopback redirect (RFC 8252 §7.3). */
export interface CallbackReceiver {
  redirectUrl: string;
  /** Answers other requests with an error page. Rejects after `deadline` milliseconds, or when `stop` aborts. */
  receive(state: () => string | undefined, deadline: number, stop: AbortSignal): Promise<URLSearchParams>;
  close(): void;
}

/** Thrown without a callback. The message is for the user. */
export class NotReceived extends Error {
  override readonly name = 'NotReceived';
}

const PATH = '/callback';

function answer(response: ServerResponse, status: number, title: string, text: string): void {
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>`;
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  });
  response.end(body);
}

function sameText(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (problem: Error): void => {
      if (port === 0) reject(problem);
      else listen(server, 0).then(resolve, reject);
    };
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', failed);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Uses the port of `preferred` if it is free, else any port. */
export async function openCallback(preferred?: string): Promise<CallbackReceiver> {
  let arrived: (request: URL, response: ServerResponse) => void = (_url, response) =>
    answer(response, 404, 'Not found', 'No login is in progress here.');
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (url.pathname === PATH && request.method === 'GET') arrived(url, response);
    else answer(response, 404, 'Not found', 'There is nothing at this address.');
  });
  const port = await listen(server, preferred === undefined ? 0 : Number(new URL(preferred).port));
  let late: NodeJS.Timeout | undefined;
  return {
    redirectUrl: `http://127.0.0.1:${port}${PATH}`,
    receive(state, deadline, stop) {
      clearTimeout(late);
      return new Promise((resolve, reject) => {
        late = setTimeout(
          () =>
            reject(new NotReceived(`the login did not complete within ${Math.round(deadline / 1000)} s: try again`)),
          deadline,
        );
        stop.addEventListener('abort', () => reject(new NotReceived('stopped before the login was done')), {
          once: true,
        });
        arrived = ({ searchParams }, response) => {
          if (!sameText(searchParams.get('state') ?? '', state() ?? '')) {
            answer(
              response,
              400,
              'Not this login',
              'This answer belongs to another login. Start again in the terminal.',
            );
            return;
          }
          const well = searchParams.has('code');
          const text = well ? 'You can close this window and go back to the terminal.' : 'The terminal says why.';
          answer(response, 200, well ? 'You are logged in' : 'The login did not succeed', text);
          clearTimeout(late);
          resolve(searchParams);
        };
      });
    },
    close() {
      clearTimeout(late);
      server.close();
      server.closeIdleConnections();
    },
  };
}
