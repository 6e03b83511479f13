import { setTimeout as sleep } from 'node:timers/promises';
import { inputRequired, type CallToolResult, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ServerState } from './server-state.ts';

const NOTHING = z.object({});
const PAUSE_MS = 50;
const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

async function reportProgress(context: ServerContext, steps: number[], total: number): Promise<void> {
  const token = context.mcpReq._meta?.progressToken;
  for (const progress of steps) {
    if (token !== undefined) {
      const message = `Completed step ${progress} of ${total}`;
      const params = { progressToken: token, progress, total, message };
      await context.mcpReq.notify({ method: 'notifications/progress', params });
    }
    await sleep(PAUSE_MS);
  }
}

async function logThreeTimes(context: ServerContext): Promise<CallToolResult> {
  for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- logging is part of the older revisions that this serves
    await context.mcpReq.log('info', data);
    await sleep(PAUSE_MS);
  }
  return text('Tool with logging executed successfully');
}

/** Registers tools that send messages before they answer, answer late, or cut the stream. */
export function registerStreamTools(server: McpServer): void {
  for (const name of ['test_tool_with_logging', 'test_logging_tool']) {
    server.registerTool(name, { description: 'Logs three times', inputSchema: NOTHING }, (_arguments, context) =>
      logThreeTimes(context),
    );
  }
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Reports progress three times', inputSchema: NOTHING },
    async (_arguments, context) => {
      await reportProgress(context, [0, 50, 100], 100);
      return text(String(context.mcpReq._meta?.progressToken ?? 'no progress token'));
    },
  );
  server.registerTool(
    'test_slow',
    {
      description: 'Answers after some milliseconds, or not at all when cancelled',
      inputSchema: z.object({ ms: z.number().min(0).max(600_000) }),
    },
    async ({ ms }, context) => {
      await sleep(ms, undefined, { signal: context.mcpReq.signal });
      return text(`waited ${ms} ms`);
    },
  );
  server.registerTool(
    'test_reconnection',
    { description: 'Closes its stream in the middle of the call; the answer waits', inputSchema: NOTHING },
    async (_arguments, context) => {
      context.http?.closeSSE?.();
      await sleep(100);
      return text('Reconnection test completed successfully.');
    },
  );
  server.registerTool(
    'test_streaming_elicitation',
    { description: 'Reports progress, then asks', inputSchema: NOTHING },
    async (_arguments, context) => {
      const answer = context.mcpReq.inputResponses?.answer;
      if (answer !== undefined) return text(`answer: ${JSON.stringify(answer)}`);
      await reportProgress(context, [1], 2);
      const requestedSchema = { type: 'object' as const, properties: { ok: { type: 'boolean' as const } } };
      return inputRequired({ inputRequests: { answer: inputRequired.elicit({ message: 'Go on?', requestedSchema }) } });
    },
  );
}

/** Registers tools that change the server's lists, so that clients receive `list_changed` and `updated`. */
export function registerTriggerTools(server: McpServer, serverState: ServerState): void {
  const trigger = (name: string, description: string, change: () => void) => {
    server.registerTool(name, { description, inputSchema: NOTHING }, () => {
      change();
      return text('changed');
    });
  };
  trigger('test_trigger_tool_change', 'Adds or removes one tool', () => {
    serverState.toggleTool();
  });
  trigger('test_trigger_prompt_change', 'Adds or removes one prompt', () => {
    serverState.togglePrompt();
  });
  server.registerTool(
    'test_trigger_resource_update',
    { description: 'Changes the watched resource', inputSchema: z.object({ content: z.string().max(10_000) }) },
    ({ content }) => {
      serverState.updateResource(content);
      return text('updated');
    },
  );
}
