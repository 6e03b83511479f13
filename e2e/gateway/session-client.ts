import { request as httpRequest, type IncomingMessage } from 'node:http';

/** A JSON-RPC message with the members that tests read. */
export interface Rpc {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { code: number; message: string; data?: Record<string, unknown> };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The messages of the answer: one for JSON, all for a stream. */
  readonly messages: Rpc[];
  /** The response among the messages. */
  readonly answer: Rpc;
}

export type Headers = Record<string, string>;

const JSON_HEADERS: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** Sends one HTTP request by node:http, which adds no headers of its own. */
export function send(url: string, method: string, headers: Headers, body?: string | Buffer): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { method, headers: { ...(body === undefined ? {} : JSON_HEADERS), ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const messages = readMessages(text, response.headers['content-type'] ?? '');
          const answer = messages.find((message) => message.result ?? message.error) ?? {};
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, messages, answer });
        });
      },
    );
    request.setTimeout(20_000, () => request.destroy(new Error('no answer within 20 s')));
    request.on('error', reject);
    request.end(body);
  });
}

function readMessages(text: string, type: string): Rpc[] {
  if (!type.startsWith('text/event-stream')) return text.startsWith('{') ? [JSON.parse(text) as Rpc] : [];
  return readEvents(text).flatMap(({ data }) => (data.startsWith('{') ? [JSON.parse(data) as Rpc] : []));
}

interface Event {
  readonly id: string | undefined;
  readonly data: string;
}

function readEvents(text: string): Event[] {
  return text.split('\n\n').flatMap((block) => {
    const lines = block.split('\n');
    const field = (name: string) =>
      lines
        .find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trim();
    return field('data') === undefined && field('id') === undefined
      ? []
      : [{ id: field('id'), data: field('data') ?? '' }];
  });
}

/** An open stream, with the messages so far and a function that waits for more. */
export interface OpenStream {
  readonly status: number;
  /** Returns whether neither side has ended the stream. */
  isOpen(): boolean;
  messages(): Rpc[];
  events(): Event[];
  /** Waits for the first message that matches. */
  waitFor(matches: (message: Rpc) => boolean): Promise<Rpc>;
  close(): void;
}

/** Opens a stream with GET, or with POST if there is a body. */
export function openStream(url: string, headers: Headers, body?: string): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const request = httpRequest(url, { method, headers: { ...JSON_HEADERS, ...headers } }, (response) => {
      let [text, isOpen] = ['', true];
      response.once('close', () => (isOpen = false));
      const waiting = new Set<() => void>();
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
        for (const look of waiting) look();
      });
      response.on('error', () => undefined);
      const complete = () => text.slice(0, text.lastIndexOf('\n\n') + 2);
      const messages = () => readMessages(complete(), 'text/event-stream');
      resolve({
        status: response.statusCode ?? 0,
        isOpen: () => isOpen,
        messages,
        events: () => readEvents(complete()),
        waitFor: (matches) =>
          new Promise((found, missed) => {
            const timer = setTimeout(() => missed(new Error(`not seen within 10 s; seen: ${text}`)), 10_000);
            const look = () => {
              const message = messages().find(matches);
              if (!message) return;
              clearTimeout(timer);
              waiting.delete(look);
              found(message);
            };
            waiting.add(look);
            look();
          }),
        close: () => request.destroy(),
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** A client of revision 2025-11-25. */
export class SessionClient {
  readonly url: string;
  readonly headers: Headers;
  readonly initialized: Rpc;
  #nextId = 1;

  private constructor(url: string, headers: Headers, initialized: Rpc) {
    this.url = url;
    this.headers = headers;
    this.initialized = initialized;
  }

  static async open(
    url: string,
    headers: Headers = {},
    capabilities: object = {},
    revision = '2025-11-25',
  ): Promise<SessionClient> {
    const params = { protocolVersion: revision, capabilities, clientInfo: { name: 'test', version: '1' } };
    const opened = await send(
      url,
      'POST',
      headers,
      JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    );
    const session = opened.headers['mcp-session-id'];
    if (typeof session !== 'string') throw new Error(`initialize: ${opened.status} ${opened.text}`);
    const all = { ...headers, 'mcp-session-id': session, 'mcp-protocol-version': revision };
    const client = new SessionClient(url, all, opened.answer);
    await client.notify('notifications/initialized');
    return client;
  }

  request(method: string, params?: object): Promise<Reply> {
    return send(this.url, 'POST', this.headers, this.message(method, params));
  }

  /** Returns the JSON text of a request with a fresh id. */
  message(method: string, params?: object): string {
    return JSON.stringify({ jsonrpc: '2.0', id: this.#nextId++, method, params });
  }

  notify(method: string, params?: object): Promise<Reply> {
    return send(this.url, 'POST', this.headers, JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  call(name: string, args?: object): Promise<Reply> {
    return this.request('tools/call', args === undefined ? { name } : { name, arguments: args });
  }

  async toolNames(): Promise<string[]> {
    const { answer } = await this.request('tools/list');
    return ((answer.result?.tools ?? []) as { name: string }[]).map(({ name }) => name);
  }

  stream(headers: Headers = {}): Promise<OpenStream> {
    return openStream(this.url, { ...this.headers, ...headers });
  }
}

const MODERN = '2026-07-28';

/** Sends one request of revision 2026-07-28. */
export function sendModern(
  url: string,
  method: string,
  params: Record<string, unknown> = {},
  headers: Headers = {},
): Promise<Reply> {
  const { body, headers: own } = modernRequest(method, params);
  return send(url, 'POST', { ...own, ...headers }, body);
}

/** Returns body and headers of one request of revision 2026-07-28. */
export function modernRequest(method: string, params: Record<string, unknown>): { body: string; headers: Headers } {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(params._meta as object | undefined),
  };
  const name = params.name ?? params.uri ?? params.taskId;
  return {
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    headers: {
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
  };
}
