import { createTaskSessionFromClient, type RawClientDispatch } from '@modelcontextprotocol/ext-tasks/client';
import { modernRequest, send } from '../gateway/session-client.ts';
import { connectNewClient } from './connect-sdk-client.ts';

/**
 * Calls a tool with the client of ext-tasks, and prints the outcome as JSON. Arguments: URL, revision, tool, its
 * arguments as JSON. A program of its own, because ext-tasks refuses objects of the test runner's realm.
 */
const [, , url = '', revision = '', tool = '', args = '{}'] = process.argv;
const toolArguments = JSON.parse(args) as Record<string, string>;

let sent = 0;
const rawDispatch: RawClientDispatch = async (request) => {
  const { method, params } = request as { method: string; params: Record<string, unknown> };
  const { body, headers } = modernRequest(method, params);
  sent += 1;
  const { answer } = await send(url, 'POST', headers, body.replace('"id":1,', `"id":${sent},`));
  return answer as Awaited<ReturnType<RawClientDispatch>>;
};

const input = () => Promise.resolve({ action: 'accept' as const, content: { name: 'yes' } });
const isModern = revision === '2026-07-28';
const client = await connectNewClient(new URL(url), isModern ? { revision } : {});
const session = createTaskSessionFromClient(client, {
  endpointId: 'gateway',
  onInputRequest: input as never,
  ...(isModern && {
    rawDispatch,
    v2RequestFraming: {
      protocolVersion: revision,
      clientInfo: { name: 'x', version: '1' },
      clientCapabilities: { elicitation: {} },
    },
  }),
});
const execution = await session.callTool(tool, toolArguments, isModern ? {} : { task: { preference: 'require' } });
const { outcome } = await execution.settle();
console.log(JSON.stringify({ kind: execution.kind, ...outcome }));
await session.close();
await client.close();
