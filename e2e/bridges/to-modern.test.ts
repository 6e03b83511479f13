import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { send } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { ANSWERS, connectNewClient, connectOldClient, type ClientOptions } from '../sdk-servers/connect-sdk-client.ts';
import { PYTHON, PYTHON_INSTALLED } from '../sdk-servers/python-sdk.ts';
import { serveModern, type ModernServer } from './modern-server.ts';

let server: ModernServer;
let url: URL;
let status: string;

beforeAll(async () => {
  server = await serveModern();
  const gateway = await gatewayTo({ modern: server.url }, { aggregation: { conflict_resolution: 'prefix' } });
  url = new URL(gateway.url);
  status = `http://127.0.0.1:${gateway.runtime.address.privatePort}/status`;
  await until('the backend is ready', async () => (await send(status, 'GET', {})).text.includes('"ready"'));
}, 60_000);
afterAll(async () => {
  await closeAll();
  await server.close();
});

const CLIENTS = { '1.x': connectOldClient, '2.x': connectNewClient };

describe.each(Object.entries(CLIENTS))('a legacy client of the SDK %s at a server of 2026-07-28', (_line, connect) => {
  const open = async (options: ClientOptions = {}) => {
    const client = await connect(url, options);
    closing(client);
    const call = async (name: string, args: Record<string, unknown> = {}) => {
      const { content, ...rest } = await client.callTool({ name: `modern_${name}`, arguments: args });
      const [first] = Array.isArray(content) ? (content as { text: string }[]) : [];
      return { text: first?.text, ...rest };
    };
    return { client, call };
  };

  it('lists and calls what it has', async () => {
    const { client, call } = await open();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['modern_echo', 'modern_numbers']));
    expect(await call('echo', { text: 'hi' })).toEqual({ text: 'hi' });
    expect((await call('big', { bytes: 2_000_000 })).text).toHaveLength(2_000_000);
    expect(await call('fail')).toMatchObject({ isError: true });
    expect(await call('count')).toMatchObject({ structuredContent: { fail: { aborted: 0 } } });
    expect(await client.getPrompt({ name: 'modern_greet', arguments: { name: 'Ada' } })).toMatchObject({
      messages: [{}],
    });
    expect((await client.listResources()).resources).toHaveLength(2);
    expect(await client.readResource({ uri: 'sdk://items/7' })).toMatchObject({ contents: [{ text: 'item 7' }] });
  });

  it('answers what the server asks during a call', async () => {
    const { call } = await open({ answers: ANSWERS });
    expect((await call('elicit')).text).toContain('Ada');
    expect((await call('sample')).text).toContain('word');
    expect((await call('roots')).text).toContain('file:///work');
  });

  it('gets an error result for input that it did not declare', async () => {
    const { call } = await open();
    const refused = await call('elicit');
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toMatch(/elicitation/i);
  });

  it('answers several rounds, and several questions of one round', async () => {
    const { call } = await open({ answers: ANSWERS });
    const rounds = JSON.parse((await call('rounds', { count: 3 })).text ?? '') as object[];
    expect(rounds.map((round) => Object.keys(round))).toEqual([['round0'], ['round1'], ['round2']]);
    const answers = JSON.parse((await call('parallel', { count: 3 })).text ?? '') as object;
    expect(Object.keys(answers).sort()).toEqual(['name0', 'name1', 'name2', 'roots', 'word']);
  });

  it('waits for a server that asks for nothing but its state', async () => {
    expect((await (await open()).call('wait', { count: 2 })).text).toBe('turn 2');
  });

  it('gets an error result from a server that asks without end', async () => {
    const refused = await (await open({ answers: ANSWERS })).call('rounds', { count: 1_000 });
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('10 rounds') });
  });

  it('gets an error for a state of 1 MB, and the server gets no second request', async () => {
    const { call } = await open({ answers: ANSWERS });
    await expect(call('state', { count: 1_000_000 })).rejects.toThrow(/not valid MCP/);
  });

  it('takes structured content that is no object, and schemas of other revisions', async () => {
    const { client, call } = await open();
    await client.listTools();
    expect(await call('numbers')).toEqual({ text: '[1,2]', structuredContent: { result: [1, 2] } });
    expect(await call('anything', { anything: 5 })).toMatchObject({ structuredContent: { anything: 5 } });
  });

  it('repeats arguments in the headers that their schema names', async () => {
    const { call } = await open();
    expect((await call('region', { region: 'süd' })).text).toBe('süd');
    expect(server.lastHeaders().get('mcp-param-region')).toMatch(/^=\?base64\?/);
    expect((await call('region')).text).toBe('undefined');
    expect(server.lastHeaders().get('mcp-param-region')).toBeNull();
  });

  it('gets the log messages of its level', async () => {
    const seen: unknown[] = [];
    const { client, call } = await open({ onLog: (data) => seen.push(data) });
    expect(await call('levels')).toEqual({ text: 'logged' });
    expect(seen).toHaveLength(8);
    // The SDK marks it as deprecated, as the newer revision has no such request.
    const legacy: { setLoggingLevel(level: 'error'): Promise<unknown> } = client;
    await legacy.setLoggingLevel('error');
    await call('levels');
    expect(seen.slice(8)).toEqual(['error', 'critical', 'alert', 'emergency']);
  });

  it('gets progress that only rises, over two rounds', async () => {
    const { client } = await open({ answers: ANSWERS });
    const seen: number[] = [];
    const params = { name: 'modern_steps', arguments: { count: 3 } };
    const onprogress = ({ progress }: { progress: number }) => seen.push(progress);
    // The 2.x line has no parameter for the schema of the result.
    const result = await (connect === connectOldClient
      ? client.callTool(params, undefined, { onprogress })
      : client.callTool(params, { onprogress } as never));
    expect(result).toMatchObject({ content: [{ text: 'done' }] });
    expect(seen).toEqual([1, 2, 3, 4]);
  });
});

(existsSync(PYTHON_INSTALLED) ? it : it.skip)(
  'serves the client of the Python SDK',
  async () => {
    const program = join(import.meta.dirname, '..', 'sdk-servers', 'python-client.py');
    const { stdout } = await promisify(execFile)(PYTHON, [program, url.href, 'modern_']);
    expect(JSON.parse(stdout)).toMatchObject({
      tools: expect.arrayContaining(['modern_numbers']),
      echoed: 'first',
      elicited: expect.stringContaining('Ada'),
      afterwards: 'second',
    });
  },
  60_000,
);
