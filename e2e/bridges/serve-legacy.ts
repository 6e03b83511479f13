import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Rpc } from '../gateway/session-client.ts';

/** A session of the server, with its number of calls. */
interface Session {
  readonly id: string;
  readonly capabilities: Record<string, unknown>;
  calls: number;
  stream: ServerResponse | undefined;
}

/** The context of a tool call. */
interface LegacyCall {
  readonly session: Session;
  readonly message: Rpc;
  readonly response: ServerResponse;
  /** Sends a message on the stream of the call. */
  readonly send: (message: object) => void;
  /** Sends a request on the stream of the call, and waits for the client's answer. */
  readonly ask: (method: string, params?: object) => Promise<Rpc>;
  /** Does so on the stream of the session. */
  readonly askBeside: LegacyCall['ask'];
}

/** Returns the result of a call. Undefined: it has answered itself, or never answers. */
export type RunTool = (call: LegacyCall) => object | undefined | Promise<object | undefined>;

export interface LegacyServer {
  readonly url: string;
  /** All messages so far, in order. `verb`: GET and DELETE have no message. */
  readonly seen: { readonly verb: string; readonly session: string | undefined; readonly message: Rpc }[];
  readonly sessions: ReadonlyMap<string, Session>;
  /** Number of messages with this method. */
  count(method: string): number;
  /** Forgets all sessions, as after a restart. */
  forget(): void;
  close(): void;
}

interface LegacyOptions {
  readonly tools: Record<string, RunTool>;
  /** Sends a request for roots as soon as a session is initialized. */
  readonly asksEarly?: boolean;
  /** Answers 401 to requests without a credential. */
  readonly needsToken?: boolean;
  /** Milliseconds before each answer to a request that names no session. */
  readonly opensAfter?: number;
}

const NO_MESSAGE: Rpc = {};

/** Serves a backend of revision 2025-11-25, with one session for each client and tools that a test writes. */
export async function serveLegacy({
  tools,
  asksEarly = false,
  needsToken = false,
  opensAfter = 0,
}: LegacyOptions): Promise<LegacyServer> {
  const seen: LegacyServer['seen'] = [];
  const sessions = new Map<string, Session>();
  const answers = new Map<string, (answer: Rpc) => void>();
  let lastId = 0;

  const asked = (write: (message: object) => void, method: string, params?: object) =>
    new Promise<Rpc>((resolve) => {
      const id = `q${++lastId}`;
      answers.set(id, resolve);
      write({ jsonrpc: '2.0', id, method, ...(params && { params }) });
    });

  const toStream = (session: Session) => (event: object) => session.stream?.write(`data: ${JSON.stringify(event)}\n\n`);

  function call(session: Session, message: Rpc, response: ServerResponse): void {
    session.calls += 1;
    const send = (event: object) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: message\ndata: ${JSON.stringify(event)}\n\n`);
    };
    const ask = (method: string, params?: object) => asked(send, method, params);
    const askBeside: typeof ask = (method, params) => asked(toStream(session), method, params);
    const run = tools[String(message.params?.name)];
    void Promise.resolve(run?.({ session, message, response, send, ask, askBeside })).then((outcome) => {
      if (!outcome || response.destroyed) return;
      send({ jsonrpc: '2.0', id: message.id, ...('error' in outcome ? outcome : { result: outcome }) });
      response.end();
    });
  }

  function answer(session: Session, message: Rpc, response: ServerResponse): void {
    const json = (result: object) => {
      const headers = { 'content-type': 'application/json', 'mcp-session-id': session.id };
      response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
    };
    const capabilities = { tools: {}, logging: {} };
    if (message.id !== undefined && message.method === undefined) {
      answers.get(String(message.id))?.(message);
      response.writeHead(202).end();
    } else if (message.method === 'initialize')
      json({ protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'legacy', version: '1' } });
    else if (message.method === 'tools/list')
      json({ tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) });
    else if (message.method === 'tools/call') call(session, message, response);
    else if (message.id !== undefined) json({});
    else response.writeHead(202).end();
    if (message.method === 'notifications/initialized' && asksEarly && session.stream)
      void asked(toStream(session), 'roots/list');
  }

  function post(request: IncomingMessage, response: ServerResponse, text: string): void {
    const message = JSON.parse(text) as Rpc;
    const given = request.headers['mcp-session-id'];
    const isNew = message.method === 'initialize';
    const id = isNew ? randomUUID() : String(given);
    seen.push({ verb: 'POST', session: isNew ? undefined : id, message });
    const capabilities = (message.params?.capabilities ?? {}) as Record<string, unknown>;
    if (isNew) sessions.set(id, { id, capabilities, calls: 0, stream: undefined });
    const session = sessions.get(id);
    if (session) answer(session, message, response);
    else response.writeHead(given === undefined ? 400 : 404).end();
  }

  const server = createServer((request, response) => {
    const id = String(request.headers['mcp-session-id']);
    const session = sessions.get(id);
    if (needsToken && request.headers.authorization === undefined) {
      response.writeHead(401).end();
      return;
    }
    if (request.method === 'POST') {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      const isSlow = opensAfter > 0 && request.headers['mcp-session-id'] === undefined;
      request.on('end', () => {
        const take = () => post(request, response, Buffer.concat(chunks).toString());
        if (isSlow) setTimeout(take, opensAfter);
        else take();
      });
      return;
    }
    seen.push({ verb: String(request.method), session: id, message: NO_MESSAGE });
    if (!session) response.writeHead(404).end();
    else if (request.method === 'DELETE') {
      sessions.delete(id);
      response.writeHead(200).end();
    } else {
      session.stream = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    sessions,
    count: (method) => seen.filter(({ message }) => message.method === method).length,
    forget: () => sessions.clear(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
