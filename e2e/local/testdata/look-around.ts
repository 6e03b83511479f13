// An MCP server without packages that returns its environment, on standard input and output, or over HTTP at PORT.
// `--stubborn`: it ignores SIGTERM. `--hungry`: it first takes 400 MiB.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { createInterface } from 'node:readline';

interface Wish {
  read?: string[];
  write?: string[];
  /** Names of variables. */
  env?: string[];
  /** URLs. */
  fetch?: string[];
}

interface Message {
  id?: number;
  method: string;
  params?: { protocolVersion?: string; arguments?: Wish };
}

/** Returns the result, or the code of the error. */
function attempt(work: () => string): string {
  try {
    return work();
  } catch (problem) {
    return problem instanceof Error && 'code' in problem ? String(problem.code) : String(problem);
  }
}

function write(path: string): string {
  writeFileSync(path, 'written');
  return 'written';
}

/** Returns the status of the answer, or the error. */
async function reach(url: string): Promise<number | string> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(10_000) })).status;
  } catch (problem) {
    return String(problem);
  }
}

/** Returns the value of a line of the process's status. */
const statusOf = (name: string) =>
  new RegExp(`^${name}:\\s*(\\S+)$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1];

async function look({ read = [], write: written = [], env = [], fetch: urls = [] }: Wish) {
  return {
    interfaces: Object.keys(networkInterfaces()).sort(),
    note: process.env.NOTE,
    path: process.env.PATH,
    keyHash: createHash('sha256')
      .update(process.env.API_KEY ?? '')
      .digest('hex'),
    capabilities: statusOf('CapBnd'),
    noNewPrivileges: statusOf('NoNewPrivs'),
    devices: readdirSync('/dev').sort(),
    read: read.map((path) => attempt(() => readFileSync(path, 'utf8'))),
    write: written.map((path) => attempt(() => write(path))),
    env: env.map((name) => process.env[name] ?? null),
    fetch: await Promise.all(urls.map(reach)),
  };
}

const list = { type: 'array', items: { type: 'string' } };
const inputSchema = { type: 'object', properties: { read: list, write: list, env: list, fetch: list } };

async function resultOf({ method, params }: Message): Promise<object> {
  if (method === 'initialize') {
    const serverInfo = { name: 'look-around', version: '1' };
    return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === 'tools/list') return { tools: [{ name: 'look', inputSchema }] };
  if (method !== 'tools/call') return {};
  const structuredContent = await look(params?.arguments ?? {});
  return { structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
}

const read = (text: string) => JSON.parse(text) as Message;
const answer = async (message: Message) =>
  JSON.stringify({ jsonrpc: '2.0', id: message.id, result: await resultOf(message) });

const taken = process.argv.includes('--hungry') ? Buffer.alloc(400 * 2 ** 20, 1) : undefined;
if (taken) process.on('exit', () => taken.fill(0));
if (process.argv.includes('--stubborn')) process.on('SIGTERM', () => undefined);

if (process.env.PORT === undefined) {
  createInterface(process.stdin).on('line', (line) => {
    const message = read(line);
    if (message.id !== undefined) void answer(message).then((text) => console.log(text));
  });
} else {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = read(Buffer.concat(parts).toString());
      if (message.id === undefined) return void response.writeHead(202).end();
      return void answer(message).then((text) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(text),
      );
    });
  });
  server.listen(Number(process.env.PORT), process.env.HOST);
}
