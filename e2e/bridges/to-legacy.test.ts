import { describe, expect, it } from '@jest/globals';
import { sendModern } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { gatewayTo } from '../relay/gateway-to.ts';
import type { ClientOptions } from '../sdk-servers/connect-sdk-client.ts';
import { connectModern } from './connect-modern.ts';
import { useOldServers, type OldServerKind } from './old-servers.ts';

const urlOf = useOldServers();

async function connect(answers: OldServerKind, options: ClientOptions = {}) {
  const { url } = await gatewayTo({ old: urlOf(answers) });
  return { url, ...(await connectModern(url, options)) };
}

describe.each(['sse', 'json', 'resumable'] as const)(
  'a client of 2026-07-28 and an older server with %s answers',
  (answers) => {
    it('lists tools, prompts, resources and templates', async () => {
      const { client } = await connect(answers);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('old_echo');
      expect(tools.every((tool) => !('execution' in tool))).toBe(true);
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['old_greet']);
      expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['sdk://one', 'sdk://two']);
      expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
    });

    it('calls a tool, gets a prompt and reads a resource', async () => {
      const { client, call } = await connect(answers);
      expect(await call('echo', { text: 'ä' })).toMatchObject({ text: 'ä' });
      expect(await call('fail')).toMatchObject({ isError: true });
      const { messages } = await client.getPrompt({ name: 'old_greet', arguments: { name: 'Ada' } });
      expect(messages[0]?.content).toEqual({ type: 'text', text: 'Hello Ada' });
      expect((await client.readResource({ uri: 'sdk://one' })).contents[0]).toMatchObject({ text: 'resource one' });
    });

    it('returns results and errors in the form of 2026-07-28', async () => {
      const { url } = await connect(answers);
      const read = await sendModern(url, 'resources/read', { uri: 'sdk://one' });
      expect(JSON.parse(read.text)).toMatchObject({
        id: 1,
        result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
      });
      const got = await sendModern(url, 'prompts/get', { name: 'old_greet', arguments: {} });
      expect(JSON.parse(got.text)).toMatchObject({ error: { code: -32602 } });
    });
  },
);

describe.each(['sse', 'resumable'] as const)('an older server with %s answers', (answers) => {
  it('reports progress with the token of the client', async () => {
    const { client } = await connect(answers);
    const reports: number[] = [];
    await client.callTool(
      { name: 'old_progress', arguments: { steps: 3, every: 20 } },
      { onprogress: ({ progress }) => reports.push(progress) },
    );
    expect(reports).toEqual([1, 2, 3]);
  });

  it('logs at the level of the request, and nothing without one', async () => {
    const { url } = await connect(answers);
    const log = async (level?: string) => {
      const meta = level === undefined ? {} : { 'io.modelcontextprotocol/logLevel': level };
      const args = { lines: 2, every: 5, stream: 'call' };
      return (await sendModern(url, 'tools/call', { name: 'old_log', arguments: args, _meta: meta })).text;
    };
    expect(await log('info')).toContain('line 2');
    expect(await log('error')).not.toContain('line 1');
    expect(await log()).not.toContain('line 1');
  });
});

describe('a call that the client cancels', () => {
  it('ends with a cancellation at the older server', async () => {
    const { client, counts } = await connect('sse');
    const abort = new AbortController();
    const before = (await counts()).patient?.aborted ?? 0;
    const call = client.callTool({ name: 'old_patient', arguments: { ms: 60_000 } }, { signal: abort.signal });
    call.catch(() => undefined);
    await until('the tool runs', async () => ((await counts()).patient?.begun ?? 0) > before);
    abort.abort();
    await until('the tool is aborted', async () => ((await counts()).patient?.aborted ?? 0) > before);
  });
});
