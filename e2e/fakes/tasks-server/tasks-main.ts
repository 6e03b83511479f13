// A server of tasks over stdio. Argument: its revision.
import { createInterface } from 'node:readline';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { buildCoreTasks } from './serve-core-tasks.ts';
import { Tasks, type Rpc } from './serve-tasks.ts';

if (process.argv[2] === '2026-07-28') {
  const tasks = new Tasks({});
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const message = JSON.parse(line) as Partial<Rpc>;
    if (message.id !== undefined && message.method !== undefined)
      tasks.answer(message as Rpc, (text) => process.stdout.write(`${text}\n`));
  });
} else await buildCoreTasks().connect(new StdioServerTransport());
