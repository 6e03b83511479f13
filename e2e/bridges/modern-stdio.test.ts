import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { send } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { ANSWERS, connectNewClient, connectOldClient, type ClientOptions } from '../sdk-servers/connect-sdk-client.ts';

const MAIN = join(import.meta.dirname, 'modern-stdio-main.ts');
const MODES = ['shared', 'perSession'] as const;

const gateways = {} as Record<(typeof MODES)[number], ServedGateway>;

beforeAll(async () => {
  for (const stdio_process of MODES) {
    const program = { name: 'modern', transport: 'stdio' as const, command: process.execPath, args: [MAIN] };
    const backends = [{ ...program, stdio_process }];
    gateways[stdio_process] = closing(await serveGateway({ incoming: { type: 'anonymous' }, backends }));
  }
}, 60_000);
afterAll(closeAll);

const CLIENTS = {
  'an SDK client of the 1.x line': (url: URL, options: ClientOptions) => connectOldClient(url, options),
  'an SDK client of the 2.x line in a session': (url: URL, options: ClientOptions) => connectNewClient(url, options),
  'an SDK client of 2026-07-28': (url: URL, options: ClientOptions) =>
    connectNewClient(url, { ...options, revision: '2026-07-28' }),
};

describe.each(MODES)('a stdio server of 2026-07-28 alone, with stdioProcess: %s', (mode) => {
  it('becomes ready, and shows its revision in the status', async () => {
    const { text } = await send(`http://127.0.0.1:${gateways[mode].runtime.address.privatePort}/status`, 'GET', {});
    expect(JSON.parse(text)).toMatchObject({
      backends: [{ name: 'modern', phase: 'ready', revisions: ['2026-07-28'] }],
    });
  });

  describe.each(Object.entries(CLIENTS))('%s', (_name, connect) => {
    const open = async (options: ClientOptions = {}) => {
      const client = await connect(new URL(gateways[mode].url), options);
      closing(client);
      const call = async (name: string, args: Record<string, unknown> = {}, more: object = {}) => {
        const request = { name: `modern_${name}`, arguments: args };
        const { content, ...rest } = await ('getDiscoverResult' in client
          ? client.callTool(request, more)
          : client.callTool(request, undefined, more));
        return { text: (content as { text: string }[])[0]?.text, ...rest };
      };
      return { client, call };
    };

    it('lists, calls and reads', async () => {
      const { client, call } = await open();
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['modern_echo', 'modern_numbers']));
      expect(await call('echo', { text: 'hi' })).toMatchObject({ text: 'hi' });
      expect((await call('big', { bytes: 2_000_000 })).text).toHaveLength(2_000_000);
      expect(await call('fail')).toMatchObject({ isError: true });
      expect(await client.getPrompt({ name: 'modern_greet', arguments: { name: 'Ada' } })).toMatchObject({
        messages: [{}],
      });
      expect(await client.readResource({ uri: 'sdk://items/7' })).toMatchObject({ contents: [{ text: 'item 7' }] });
    });

    it('answers the requests for input, in one round and in several', async () => {
      const { call } = await open({ answers: ANSWERS });
      expect((await call('elicit')).text).toContain('Ada');
      expect((await call('sample')).text).toContain('word');
      expect((await call('roots')).text).toContain('file:///work');
      expect(JSON.parse((await call('rounds', { count: 3 })).text ?? '')).toHaveLength(3);
    });

    it('gets the progress of its own call only', async () => {
      const { call } = await open();
      const run = async (steps: number) => {
        const seen: number[] = [];
        await call(
          'progress',
          { steps, every: 5 },
          { onprogress: ({ progress }: { progress: number }) => seen.push(progress) },
        );
        return seen;
      };
      expect(await Promise.all([run(3), run(5)])).toEqual([
        [1, 2, 3],
        [1, 2, 3, 4, 5],
      ]);
    });

    it('cancels a call at the server', async () => {
      const { call } = await open();
      const aborted = async () => {
        const counts = JSON.parse((await call('count')).text ?? '') as Record<string, { aborted: number }>;
        return counts.patient?.aborted ?? 0;
      };
      const before = await aborted();
      const stop = new AbortController();
      const running = call('patient', { ms: 60_000 }, { signal: stop.signal });
      setTimeout(() => stop.abort(), 300);
      await expect(running).rejects.toThrow();
      await until('the server cancelled the call', async () => (await aborted()) > before);
    });
  });

  it('passes log messages to a legacy client', async () => {
    const seen: unknown[] = [];
    const onLog = (data: unknown) => void seen.push(data);
    const client = closing(await connectNewClient(new URL(gateways[mode].url), { onLog }));
    await client.callTool({ name: 'modern_log', arguments: { lines: 2, every: 1 } });
    expect(seen).toEqual(['line 1', 'line 2']);
  });

  it('tells a legacy client of changed resources and lists', async () => {
    const client = closing(await connectNewClient(new URL(gateways[mode].url)));
    const seen: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void seen.push(params.uri));
    client.setNotificationHandler('notifications/tools/list_changed', () => void seen.push('tools'));
    await client.subscribeResource({ uri: 'sdk://one' });
    await until('told of the resource', async () => {
      await client.callTool({ name: 'modern_touch', arguments: { uri: 'sdk://one' } });
      return seen.includes('sdk://one');
    });
    await client.callTool({ name: 'modern_touch', arguments: { uri: 'sdk://two' } });
    await client.callTool({ name: 'modern_change', arguments: {} });
    await until('told of the tools', () => seen.includes('tools'));
    expect(seen).not.toContain('sdk://two');
  });

  it('tells a client of 2026-07-28 of changed resources and lists', async () => {
    const client = closing(await connectNewClient(new URL(gateways[mode].url), { revision: '2026-07-28' }));
    const seen: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void seen.push(params.uri));
    client.setNotificationHandler('notifications/tools/list_changed', () => void seen.push('tools'));
    await client.listen({ toolsListChanged: true, resourceSubscriptions: ['sdk://one'] });
    await client.callTool({ name: 'modern_touch', arguments: { uri: 'sdk://one' } });
    await client.callTool({ name: 'modern_change', arguments: {} });
    await until('told of both', () => seen.includes('tools') && seen.includes('sdk://one'));
  });

  it('starts again after its process ended in a call', async () => {
    const client = closing(await connectNewClient(new URL(gateways[mode].url), { revision: '2026-07-28' }));
    const pid = async () => JSON.stringify((await client.callTool({ name: 'modern_pid', arguments: {} })).content);
    const first = await pid();
    await expect(client.callTool({ name: 'modern_die', arguments: {} })).rejects.toThrow();
    await until('another process', async () => (await pid().catch(() => first)) !== first);
  });
});
