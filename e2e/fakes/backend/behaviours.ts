import type { ServerResponse } from 'node:http';
import type { Message } from '../mcp/answer.ts';

/** Target of redirects, delay and size of a misbehaving backend's answers. */
export interface Knobs {
  delayMs: number;
  bytes: number;
  redirectTo: string;
}

/** Answers one request in a wrong way. */
type Misbehave = (response: ServerResponse, message: Message, knobs: Knobs) => void;

const JSON_TYPE = { 'content-type': 'application/json' };
const SSE_TYPE = { 'content-type': 'text/event-stream' };
const CONTENT = [{ type: 'text', text: 'from a misbehaving backend' }];

const reply = (id: unknown, result: Record<string, unknown> = { content: CONTENT }) => ({ jsonrpc: '2.0', id, result });
const event = (message: unknown) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** Writes the same chunk until so many bytes are out or the reader is gone, at the reader's pace. */
function writeMuch(response: ServerResponse, chunk: string, bytes: number, end: () => void): void {
  let sent = 0;
  const more = () => {
    while (sent < bytes && !response.destroyed) {
      sent += chunk.length;
      if (!response.write(chunk)) {
        response.once('drain', more);
        return;
      }
    }
    if (!response.destroyed) end();
  };
  more();
}

/** Misbehaviours, by name. */
export const BEHAVIOURS = {
  /** Takes the request and never answers. */
  hang: () => undefined,
  /** Answers correctly, but late. */
  slow: (response, message, { delayMs }) => {
    const timer = setTimeout(() => response.writeHead(200, JSON_TYPE).end(JSON.stringify(reply(message.id))), delayMs);
    response.once('close', () => {
      clearTimeout(timer);
    });
  },
  /** Closes the connection before a byte of the answer. */
  diesBeforeAnswer: (response) => {
    response.destroy();
  },
  /** Closes the connection in the middle of the answer. */
  diesMidAnswer: (response, message) => {
    const body = JSON.stringify(reply(message.id));
    response.writeHead(200, { ...JSON_TYPE, 'content-length': body.length });
    response.write(body.slice(0, 20), () => response.destroy());
  },
  /** Ends a stream without the answer. */
  diesMidStream: (response, message) => {
    response.writeHead(200, SSE_TYPE);
    const params = { progressToken: message.params?._meta?.progressToken ?? 0, progress: 1 };
    response.end(event({ jsonrpc: '2.0', method: 'notifications/progress', params }));
  },
  answersTwice: (response, message) => {
    response.writeHead(200, SSE_TYPE);
    response.end(event(reply(message.id)) + event(reply(message.id, { content: [{ type: 'text', text: 'again' }] })));
  },
  wrongId: (response) => {
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(reply('not-the-id-you-sent')));
  },
  noId: (response) => {
    response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', result: { content: CONTENT } }));
  },
  garbage: (response) => {
    response.writeHead(200, JSON_TYPE).end('\u0000\u0001{{{"jsonrpc" nonsense');
  },
  garbageStream: (response) => {
    response.writeHead(200, SSE_TYPE).end('data: {"jsonrpc": nonsense\n\nevent: x\ndata\n\n:\n\n');
  },
  html: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>');
  },
  serverError: (response) => {
    response.writeHead(500, { 'content-type': 'text/plain' }).end('stack trace with a secret: hunter2');
  },
  /** Sends one valid answer of `bytes` bytes. */
  huge: (response, message, { bytes }) => {
    response.writeHead(200, JSON_TYPE);
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[{"type":"text","text":"`;
    response.write(head);
    writeMuch(response, 'x'.repeat(65_536), bytes, () => response.end('"}]}}'));
  },
  /** Sends `bytes` bytes of progress, then the answer. */
  flood: (response, message, { bytes }) => {
    response.writeHead(200, SSE_TYPE);
    const params = {
      progressToken: message.params?._meta?.progressToken ?? 0,
      progress: 1,
      message: 'x'.repeat(1_000),
    };
    const chunk = event({ jsonrpc: '2.0', method: 'notifications/progress', params });
    writeMuch(response, chunk, bytes, () => response.end(event(reply(message.id))));
  },
  /** Sets keys of `_meta` that belong to the protocol. */
  forgedMeta: (response, message) => {
    const _meta = {
      'io.modelcontextprotocol/serverInfo': { name: 'forged', version: '0' },
      'io.modelcontextprotocol/subscriptionId': 'forged',
      'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
      'example.test/kept': 'yes',
    };
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(reply(message.id, { content: CONTENT, _meta })));
  },
  unauthorized: (response) => {
    const challenge = 'Bearer realm="backend", resource_metadata="http://internal.test/.well-known/x"';
    response.writeHead(401, { 'www-authenticate': challenge }).end();
  },
  forbidden: (response) => {
    response.writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="admin"' }).end();
  },
  redirect: (response, _message, { redirectTo }) => {
    response.writeHead(307, { location: redirectTo }).end();
  },
  /** Sends a request to the client with an id that another backend may use as well. */
  asksWithoutPermission: (response, message) => {
    response.writeHead(200, SSE_TYPE);
    const request = { jsonrpc: '2.0', id: 0, method: 'roots/list' };
    response.end(event(request) + event(reply(message.id)));
  },
} satisfies Record<string, Misbehave>;

export type Behaviour = keyof typeof BEHAVIOURS;

/** Returns the misbehaviour with this name. */
export function behave(name: Behaviour): Misbehave {
  return BEHAVIOURS[name];
}
