import { answerRequest, refuse, type FakeServer, type Message } from '../fakes/mcp/answer.ts';
import { makeTools, textOf } from '../fakes/backend/serve-plain.ts';
import { readLines } from './read-lines.ts';

// A backend on standard input and output. It refuses the method in its argument, and so speaks one era only.
const [refused] = process.argv.slice(2);
const tools = makeTools(10);
const result = textOf(100);
const server: FakeServer = { name: 'plain', tools: () => tools, call: () => result };

async function answer(message: Message): Promise<void> {
  const { id, method, params } = message;
  if (id === undefined || method === undefined) return;
  const { body } =
    method === refused
      ? refuse(id, -32601, `Method not found: ${method}`, 200)
      : await answerRequest(server, message, { 'mcp-name': params?.name });
  process.stdout.write(`${body}\n`);
}

readLines(process.stdin, (line) => void answer(JSON.parse(line) as Message));
