import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A received question. */
interface AskedQuestion {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly question: Record<string, unknown> & { uid: string };
}

/** Answers a question; undefined: never. */
export type Decide = (
  asked: AskedQuestion,
) => { status?: number; headers?: Record<string, string>; body: string } | undefined;

export interface FakeWebhook {
  readonly url: string;
  readonly asked: readonly AskedQuestion[];
  /** Connections since the start. */
  connections(): number;
  decide: Decide;
  /** Replaces `decide`. */
  decideLater?: (asked: AskedQuestion) => Promise<ReturnType<Decide>>;
  close(): Promise<void>;
}

const answer = (value: object) => ({ body: JSON.stringify(value) });

export const allow: Decide = ({ question }) => answer({ uid: question.uid, allowed: true });
export const deny: Decide = () =>
  answer({ allowed: false, message: 'Cards do not leave the house', reason: 'card-number' });

/** Serves a validating webhook on loopback; with `tls` over HTTPS. */
export async function serveWebhook(decide: Decide = allow, tls?: ServerOptions): Promise<FakeWebhook> {
  const asked: AskedQuestion[] = [];
  let connections = 0;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const one = { headers: request.headers, text, question: JSON.parse(text) as AskedQuestion['question'] };
      asked.push(one);
      const say = (said: ReturnType<Decide>) => {
        if (said) response.writeHead(said.status ?? 200, said.headers).end(said.body);
      };
      if (running.decideLater) void running.decideLater(one).then(say);
      else say(running.decide(one));
    });
  };
  const server = tls ? createTlsServer(tls, handle) : createServer(handle);
  server.on(tls ? 'secureConnection' : 'connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const running: FakeWebhook = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/check`,
    asked,
    connections: () => connections,
    decide,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return running;
}
