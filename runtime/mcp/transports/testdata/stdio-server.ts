// A server on standard input and output. Its tools behave well or badly, as their arguments demand.
import { spawn } from 'node:child_process';
import { env } from 'node:process';
import { createInterface } from 'node:readline';

interface Message {
  id?: number | string;
  method?: string;
  params?: {
    name?: string;
    uri?: string;
    requestId?: unknown;
    arguments?: Record<string, unknown>;
    _meta?: { progressToken?: unknown };
  };
  result?: unknown;
}
interface Call {
  id: Message['id'];
  args: Record<string, unknown>;
  token: unknown;
}

const write = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
const send = (value: object) => write({ jsonrpc: '2.0', ...value });
const answer = (id: Message['id'], result: object) => send({ id, result });
const text = (id: Message['id'], value: unknown) =>
  answer(id, { content: [{ type: 'text', text: JSON.stringify(value) }] });

const received: string[] = [];
const cancelled: unknown[] = [];
const subscribed = new Set<string>();
let asking: Message['id'];

const tools: Record<string, (call: Call) => void> = {
  echo: ({ id, args }) => text(id, args),
  ids: ({ id, token }) => text(id, { id, token }),
  received: ({ id }) => text(id, received),
  cancelled: ({ id }) => text(id, cancelled),
  pid: ({ id }) => text(id, process.pid),
  environment: ({ id }) => text(id, env),
  slow: ({ id, args }) => void setTimeout(() => text(id, 'late'), Number(args.ms)),
  hang: () => undefined,
  exit: () => process.exit(3),
  progress: ({ id, args, token }) => {
    for (let progress = 1; progress <= Number(args.steps); progress++)
      send({ method: 'notifications/progress', params: { progressToken: token, progress } });
    text(id, 'done');
  },
  garbage: ({ id }) => {
    process.stdout.write('Server listening on port 8080\n\n{"jsonrpc":"2.0"}\n[1,2]\n\u0000\n');
    text(id, 'after');
  },
  twice: ({ id }) => {
    text(id, 'first');
    text(id, 'second');
  },
  wrong: ({ id }) => {
    text(`${id ?? ''}x`, 'for nobody');
    text(999_999, 'for nobody');
    send({ method: 'notifications/progress', params: { progressToken: 999_999, progress: 1 } });
    text(id, 'right');
  },
  big: ({ id, args }) =>
    void process.stdout.write(
      `{"result":{"x":"${'x'.repeat(Number(args.bytes))}"},"jsonrpc":"2.0","id":${String(id)}}\n`,
    ),
  bigLast: ({ id, args }) =>
    void process.stdout.write(
      `{"jsonrpc":"2.0","id":${String(id)},"result":{"x":"${'x'.repeat(Number(args.bytes))}"}}\n`,
    ),
  forge: ({ id }) => answer(id, { content: [], _meta: { 'io.modelcontextprotocol/forged': 1, own: 2 } }),
  bytes: ({ id }) =>
    void process.stdout.write(
      Buffer.concat([
        Buffer.from(`{"jsonrpc":"2.0","id":${String(id)},"result":{"x":"`),
        Buffer.from([0xff]),
        Buffer.from('"}}\n'),
      ]),
    ),
  offspring: ({ id, args }) => {
    const script = args.ignoring === true ? 'trap "" TERM; while :; do sleep 1; done' : 'sleep 1000';
    text(id, spawn('/bin/sh', ['-c', script], { stdio: 'ignore' }).pid);
  },
  stubborn: ({ id }) => {
    process.on('SIGTERM', () => undefined);
    process.stdin.removeAllListeners('end');
    setInterval(() => undefined, 1_000_000);
    text(id, 'stays');
  },
  changed: ({ id }) => {
    send({ method: 'notifications/tools/list_changed' });
    text(id, 'said');
  },
  touch: ({ id, args }) => {
    send({ method: 'notifications/resources/updated', params: { uri: args.uri } });
    text(id, 'said');
  },
  log: ({ id }) => {
    send({ method: 'notifications/message', params: { level: 'info', data: 'logged' } });
    process.stderr.write(`${env.SECRET ?? ''} on stderr\n`);
    text(id, 'said');
  },
  ask: ({ id }) => {
    asking = id;
    send({ id: 'q1', method: 'sampling/createMessage', params: {} });
  },
  subscribed: ({ id }) => text(id, [...subscribed]),
};

const methods: Record<string, (id: Message['id'], params: NonNullable<Message['params']>) => void> = {
  initialize: (id, params) => {
    if (env.REFUSE) process.exit(1);
    answer(id, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
      serverInfo: { name: 'fixture', version: '1' },
      received: params,
    });
  },
  'tools/call': (id, params) =>
    tools[params.name ?? '']?.({ id, args: params.arguments ?? {}, token: params._meta?.progressToken }),
  'notifications/cancelled': (_, params) => void cancelled.push(params.requestId),
  'resources/subscribe': (id, params) => {
    subscribed.add(params.uri ?? '');
    answer(id, {});
  },
  'resources/unsubscribe': (id, params) => {
    subscribed.delete(params.uri ?? '');
    answer(id, {});
  },
};

function handle(message: Message): void {
  const { id, method, params = {} } = message;
  received.push(method ?? 'response');
  const known = method === undefined ? undefined : methods[method];
  if (known) known(id, params);
  else if (method === undefined) text(asking, message);
  else if (id !== undefined) answer(id, {});
}

createInterface({ input: process.stdin }).on('line', (line) => handle(JSON.parse(line) as Message));
