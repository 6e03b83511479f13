// An MCP server without packages that tells what it is given: on standard input and output, or over HTTP where PORT says so.
// `--stubborn`: it does not end when it is asked to.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { createInterface } from 'node:readline';

interface Message {
  id?: number;
  method: string;
  params?: { protocolVersion?: string; arguments?: { read?: string[]; write?: string[] } };
}

/** What came of it, or the code of its error. */
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

function look({ read = [], write: written = [] }: { read?: string[]; write?: string[] }) {
  return {
    interfaces: Object.keys(networkInterfaces()).sort(),
    note: process.env.NOTE,
    path: process.env.PATH,
    keyHash: createHash('sha256')
      .update(process.env.API_KEY ?? '')
      .digest('hex'),
    capabilities: /^CapBnd:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1],
    read: read.map((path) => attempt(() => readFileSync(path, 'utf8'))),
    write: written.map((path) => attempt(() => write(path))),
  };
}

const list = { type: 'array', items: { type: 'string' } };
const inputSchema = { type: 'object', properties: { read: list, write: list } };

function resultOf({ method, params }: Message): object {
  if (method === 'initialize') {
    const serverInfo = { name: 'look-around', version: '1' };
    return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === 'tools/list') return { tools: [{ name: 'look', inputSchema }] };
  if (method !== 'tools/call') return {};
  const structuredContent = look(params?.arguments ?? {});
  return { structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
}

const read = (text: string) => JSON.parse(text) as Message;
const answer = (message: Message) => JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) });

if (process.argv.includes('--stubborn')) process.on('SIGTERM', () => undefined);

if (process.env.PORT === undefined) {
  createInterface(process.stdin).on('line', (line) => {
    const message = read(line);
    if (message.id !== undefined) console.log(answer(message));
  });
} else {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = read(Buffer.concat(parts).toString());
      if (message.id === undefined) return void response.writeHead(202).end();
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(answer(message));
    });
  });
  server.listen(Number(process.env.PORT), process.env.HOST);
}
