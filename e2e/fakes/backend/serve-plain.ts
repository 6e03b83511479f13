import type { FakeServer, FakeTool } from '../mcp/answer.ts';
import { serveFake, type Intercept, type RunningFake } from '../mcp/serve.ts';

export interface PlainOptions {
  port?: number;
  name?: string;
  /** Number of listed tools: `tool_0`, `tool_1`, … */
  tools?: number;
  /** Bytes of text in each result. */
  payload?: number;
  intercept?: Intercept;
  streams?: FakeServer['streams'];
  /** Address on which it listens; default 127.0.0.1. */
  host?: string | undefined;
}

/** A plain backend whose list of tools can change. */
export interface PlainBackend extends RunningFake {
  /** Changes the number of tools and notifies all open streams. */
  setTools(count: number): void;
}

const MAX_PREPARED = 16;
const MAX_PAYLOAD = 1024 * 1024;

const INPUT_SCHEMA = {
  type: 'object',
  properties: { text: { type: 'string', description: 'Anything' }, count: { type: 'integer', minimum: 0 } },
  required: ['text'],
};

export function makeTools(count: number): FakeTool[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    description: `Answers with a fixed text. Number ${index} of ${count}.`,
    inputSchema: INPUT_SCHEMA,
  }));
}

/** Returns the result of a call as JSON text. */
export const textOf = (bytes: number) => JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(bytes) }] });

/**
 * Serves an MCP backend on plain node:http. It answers every call with a prepared text, whose length is the call's
 * argument `count`, up to 1 MiB.
 */
export async function servePlain(options: PlainOptions = {}): Promise<PlainBackend> {
  let tools = makeTools(options.tools ?? 10);
  let names = new Set(tools.map((tool) => tool.name));
  const payload = options.payload ?? 100;
  const results = new Map<number, string>();
  const resultOf = (bytes: number) => {
    let result = results.get(bytes);
    if (result === undefined) {
      result = textOf(bytes);
      if (results.size >= MAX_PREPARED) results.clear();
      results.set(bytes, result);
    }
    return result;
  };
  const server: FakeServer = {
    name: options.name ?? 'plain',
    streams: options.streams,
    tools: () => tools,
    call(name, { count }) {
      const bytes = typeof count === 'number' && count >= 0 ? Math.min(count, MAX_PAYLOAD) : payload;
      return names.has(name) ? resultOf(bytes) : undefined;
    },
  };
  const running = await serveFake(server, options.port ?? 0, options.intercept, options.host);
  return {
    ...running,
    setTools(count) {
      tools = makeTools(count);
      names = new Set(tools.map((tool) => tool.name));
      running.toolsChanged();
    },
  };
}
