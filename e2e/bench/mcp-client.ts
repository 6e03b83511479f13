import { ID_PLACEHOLDER, type LoadClient } from './load-job.ts';

export type Era = '2025-11-25' | '2026-07-28';

const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const CLIENT = { name: 'bench', version: '1.0.0' };
const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const TIMEOUT_MS = 30_000;

const modernHeaders = (name: string) => ({
  ...ACCEPT,
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': name,
});

interface Received {
  headers: Headers;
  result: Record<string, unknown>;
}

async function post(url: string, headers: Record<string, string>, message: object): Promise<Received> {
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(message),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
  const body =
    text
      .split('\n')
      .findLast((line) => line.startsWith('data: {'))
      ?.slice(6) ?? text;
  const answer = (body === '' ? {} : JSON.parse(body)) as { result?: Record<string, unknown>; error?: object };
  if (answer.error) throw new Error(`${url} answered ${JSON.stringify(answer.error).slice(0, 500)}`);
  return { headers: response.headers, result: answer.result ?? {} };
}

/** Opens a session of 2025-11-25 and returns the headers that its requests carry. */
export async function openSession(url: string, token?: string): Promise<Record<string, string>> {
  const headers: Record<string, string> = {
    ...ACCEPT,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT };
  const opened = await post(url, headers, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  headers['mcp-protocol-version'] = '2025-11-25';
  const id = opened.headers.get('mcp-session-id');
  if (id !== null) headers['mcp-session-id'] = id;
  await post(url, headers, { jsonrpc: '2.0', method: 'notifications/initialized' });
  return headers;
}

/** Returns the names of all tools, over all pages. */
export async function listTools(url: string, headers: Record<string, string>): Promise<string[]> {
  const names: string[] = [];
  let cursor: unknown;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const { result } = await post(url, headers, { jsonrpc: '2.0', id: 2, method: 'tools/list', params });
    names.push(...(result.tools as { name: string }[]).map((tool) => tool.name));
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return names;
}

/** Makes one call, so that the gateway opens its lazy connections. */
export async function callOnce(url: string, headers: Record<string, string>, name: string): Promise<void> {
  const params = { name, arguments: { text: 'x' } };
  await post(url, headers, { jsonrpc: '2.0', id: 3, method: 'tools/call', params });
}

/** Makes one call as a client of 2026-07-28 whose version is `version`. */
export async function callModern(url: string, token: string, name: string, version: string): Promise<void> {
  const _meta = { ...MODERN_META, 'io.modelcontextprotocol/clientInfo': { ...CLIENT, version } };
  const params = { name, arguments: { text: 'x' }, _meta };
  const headers = { ...modernHeaders(name), authorization: `Bearer ${token}` };
  await post(url, headers, { jsonrpc: '2.0', id: 3, method: 'tools/call', params });
}

export interface ClientsOptions {
  era: Era;
  count: number;
  /** Bytes of the argument and of the result. */
  payload: number;
  /** Bearer tokens; the clients use them in turn. */
  tokens?: string[];
  /** Number of different tools that the clients call, spread over the list. */
  spread?: number;
}

/** Opens sessions and prepares the calls that the load generator sends. */
export async function prepareClients(url: string, options: ClientsOptions): Promise<LoadClient[]> {
  const tokenOf = (index: number) => options.tokens?.[index % options.tokens.length];
  const first = await openSession(url, tokenOf(0));
  const names = await listTools(url, first);
  if (names.length === 0) throw new Error(`${url} lists no tools`);
  const step = Math.max(1, Math.floor(names.length / (options.spread ?? 16)));
  const chosen = names.filter((_, index) => index % step === 0).slice(0, options.spread ?? 16);
  const clients: LoadClient[] = [];
  for (let index = 0; index < options.count; index += 1) {
    clients.push(await prepareClient(url, options, tokenOf(index), chosen, index));
  }
  return clients;
}

async function prepareClient(
  url: string,
  { era, payload }: ClientsOptions,
  token: string | undefined,
  names: string[],
  index: number,
): Promise<LoadClient> {
  const args = { text: 'x'.repeat(payload), count: payload };
  const body = (name: string, _meta?: object) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: ID_PLACEHOLDER,
      method: 'tools/call',
      params: { name, arguments: args, ...(_meta ? { _meta } : {}) },
    });
  if (era === '2025-11-25') return { headers: await openSession(url, token), bodies: names.map((name) => body(name)) };
  // A header names the tool, so one client calls one tool.
  const name = names[index % names.length] ?? '';
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { ...modernHeaders(name), ...authorization };
  return { headers, bodies: [body(name, MODERN_META)] };
}
