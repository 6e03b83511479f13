import { request as httpRequest, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveLogging } from '../fakes/backend/serve-logging.ts';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import {
  openStream,
  send,
  sendModern,
  SessionClient,
  modernRequest,
  type OpenStream,
  type Rpc,
} from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const everything = async () => closing(await serveEverything()).url;
const namesOf = (list: unknown, member = 'name') =>
  ((list ?? []) as Record<string, string>[]).map((entry) => entry[member]);
const isMethod =
  (method: string) =>
  (message: Rpc): boolean =>
    message.method === method;

/** Sends a request with a streamed answer. Returns the open stream. */
function begin(client: SessionClient, id: number, method: string, params: object): Promise<OpenStream> {
  return openStream(client.url, client.headers, JSON.stringify({ jsonrpc: '2.0', id, method, params }));
}
const answerTo = (client: SessionClient, request: Rpc, result: object) =>
  send(client.url, 'POST', client.headers, JSON.stringify({ jsonrpc: '2.0', id: request.id, result }));

describe.each(['2025-11-25', '2025-06-18', '2025-03-26'])('a client of %s', (revision) => {
  it('sees the tools, prompts, resources and templates of all backends, and reaches each', async () => {
    const gateway = await gatewayTo({ a: await everything(), b: await everything() });
    const client = await SessionClient.open(gateway.url, {}, {}, revision);
    expect(client.initialized.result).toMatchObject({
      protocolVersion: revision,
      capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} },
    });
    const tools = await client.toolNames();
    expect(tools).toEqual(expect.arrayContaining(['a_test_simple_text', 'b_test_simple_text']));
    const prompts = namesOf((await client.request('prompts/list')).answer.result?.prompts);
    expect(prompts).toEqual(expect.arrayContaining(['a_test_simple_prompt', 'b_test_simple_prompt']));
    // Both backends have the same URIs, so each appears once.
    const resources = namesOf((await client.request('resources/list')).answer.result?.resources, 'uri');
    expect(resources.filter((uri) => uri === 'test://static-text')).toHaveLength(1);
    const templates = (await client.request('resources/templates/list')).answer.result?.resourceTemplates;
    expect(namesOf(templates, 'uriTemplate')).toEqual(['test://template/{id}/data']);

    expect((await client.call('b_test_simple_text', {})).answer.result).toMatchObject({ content: [{ type: 'text' }] });
    const prompt = { name: 'a_test_prompt_with_arguments', arguments: { arg1: 'x', arg2: 'y' } };
    expect(JSON.stringify((await client.request('prompts/get', prompt)).answer.result)).toContain("arg1='x'");
    for (const uri of ['test://static-text', 'test://template/7/data'])
      expect((await client.request('resources/read', { uri })).answer.result).toMatchObject({ contents: [{ uri }] });
    const completed = await client.request('completion/complete', {
      ref: { type: 'ref/prompt', name: 'b_test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'par' },
    });
    expect(completed.answer.result).toMatchObject({ completion: { values: ['paris', 'park', 'party'] } });
    const template = await client.request('completion/complete', {
      ref: { type: 'ref/resource', uri: 'test://template/{id}/data' },
      argument: { name: 'id', value: '12' },
    });
    expect(template.answer.result).toMatchObject({ completion: { values: ['123', '124'] } });
  });
});

describe('a client of 2026-07-28', () => {
  it('sees and reaches the same', async () => {
    const gateway = await gatewayTo({ a: await everything(), b: await everything() });
    const ask = async (method: string, params: Record<string, unknown> = {}) =>
      (await sendModern(gateway.url, method, params)).answer.result;
    expect(await ask('server/discover')).toMatchObject({
      supportedVersions: expect.arrayContaining(['2026-07-28', '2025-11-25']),
      resultType: 'complete',
    });
    expect(namesOf((await ask('tools/list'))?.tools)).toEqual(
      expect.arrayContaining(['a_test_simple_text', 'b_test_simple_text']),
    );
    expect(await ask('tools/list')).toMatchObject({ ttlMs: 60_000, cacheScope: 'public', resultType: 'complete' });
    expect(await ask('tools/call', { name: 'b_test_simple_text' })).toMatchObject({ resultType: 'complete' });
    expect(await ask('prompts/get', { name: 'a_test_simple_prompt' })).toMatchObject({ messages: [{}] });
    expect(await ask('resources/read', { uri: 'test://template/7/data' })).toMatchObject({ contents: [{}] });
    const argument = { name: 'arg1', value: 'par' };
    const ref = { type: 'ref/prompt', name: 'b_test_prompt_with_arguments' };
    expect(await ask('completion/complete', { ref, argument })).toMatchObject({
      completion: { values: ['paris', 'park', 'party'] },
    });
  });

  it('gets a request for input, and its answers and the state return to the asking backend', async () => {
    const gateway = await gatewayTo({ a: await everything(), b: await everything() });
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const name = 'b_test_input_required_result_multi_round';
    let params: Record<string, unknown> = { name, arguments: {}, _meta };
    for (const key of ['step1', 'step2']) {
      const { answer } = await sendModern(gateway.url, 'tools/call', params);
      expect(answer.result).toMatchObject({ resultType: 'input_required', inputRequests: { [key]: {} } });
      const inputResponses = { [key]: { action: 'accept', content: { name: 'n', color: 'c' } } };
      params = { name, arguments: {}, _meta, inputResponses, requestState: answer.result?.requestState };
    }
    const done = await sendModern(gateway.url, 'tools/call', params);
    expect(JSON.stringify(done.answer.result)).toContain('Both steps are done.');
    // Another backend of the same program has not signed this state.
    const other = await sendModern(gateway.url, 'tools/call', { ...params, name: name.replace('b_', 'a_') });
    expect(JSON.stringify(other.answer)).not.toContain('Both steps are done.');
  });

  it('gets progress and logs in the stream of their request', async () => {
    const gateway = await gatewayTo({ a: await everything() });
    const params = { name: 'a_test_tool_with_progress', arguments: {}, _meta: { progressToken: 'p-1' } };
    const { messages } = await sendModern(gateway.url, 'tools/call', params);
    const progress = messages.filter(isMethod('notifications/progress'));
    expect(progress.map((message) => message.params?.progress)).toEqual([0, 50, 100]);
    expect(messages.at(-1)?.result).toBeDefined();
  });

  it("cancels by closing the stream, which closes the backend's stream", async () => {
    const hanging = closing(await serveMisbehaving('hang', { tools: 1 }));
    const gateway = await gatewayTo({ a: hanging.url });
    await sendModern(gateway.url, 'tools/list');
    const { body, headers } = modernRequest('tools/call', { name: 'a_tool_0' });
    const asked = httpRequest(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
    });
    asked.on('error', () => undefined);
    asked.end(body);
    const { running } = gateway.runtime.gateway.services;
    await until('the call', () => running.size > 0);
    expect(running.size).toBe(1);
    asked.destroy();
    await until('its end', () => running.size === 0);
    expect(running.size).toBe(0);
  });

  it('gets updates of resources and lists of all its backends on one stream', async () => {
    const plain = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: await everything(), b: plain.url });
    const uri = 'test://watched-resource';
    const { body, headers } = modernRequest('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourceSubscriptions: [uri, 'test://nowhere/else'] },
    });
    const stream = await openStream(gateway.url, headers, body);
    const acknowledged = await stream.waitFor(isMethod('notifications/subscriptions/acknowledged'));
    expect(stream.messages()[0]).toEqual(acknowledged);
    expect(acknowledged.params).toMatchObject({
      notifications: { toolsListChanged: true, resourceSubscriptions: expect.arrayContaining([uri]) },
      _meta: { 'io.modelcontextprotocol/subscriptionId': 1 },
    });
    plain.setTools(2);
    await stream.waitFor(isMethod('notifications/tools/list_changed'));
    await sendModern(gateway.url, 'tools/call', {
      name: 'a_test_trigger_resource_update',
      arguments: { content: 'x' },
    });
    expect(await stream.waitFor(isMethod('notifications/resources/updated'))).toMatchObject({ params: { uri } });
    stream.close();
  });
});

describe('a session with two backends', () => {
  it('gets progress and logs in the stream of their request, with the client’s token', async () => {
    const gateway = await gatewayTo({ a: await everything(), b: await everything() });
    const client = await SessionClient.open(gateway.url);
    const general = await client.stream();
    const call = (name: string, progressToken: string) =>
      client.request('tools/call', { name, arguments: {}, _meta: { progressToken } });
    const [one, two] = await Promise.all([
      call('a_test_tool_with_progress', 'one'),
      call('b_test_tool_with_progress', 'two'),
    ]);
    for (const [reply, token] of [
      [one, 'one'],
      [two, 'two'],
    ] as const) {
      const tokens = reply.messages
        .filter(isMethod('notifications/progress'))
        .map(({ params }) => params?.progressToken);
      expect(tokens).toEqual([token, token, token]);
    }
    const logged = await client.call('b_test_tool_with_logging', {});
    expect(logged.messages.filter(isMethod('notifications/message'))).toHaveLength(3);
    expect(general.messages().filter(isMethod('notifications/message'))).toHaveLength(0);
    general.close();
  });

  it('sets the log level at all of them', async () => {
    const levels: string[] = [];
    const [a, b] = [closing(await serveLogging('a', levels)), closing(await serveLogging('b', levels))];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = await SessionClient.open(gateway.url);
    expect((await client.request('logging/setLevel', { level: 'error' })).answer.result).toEqual({});
    const stream = await client.stream();
    await until('a session at each', () => levels.length === 2);
    stream.close();
    expect(levels.sort()).toEqual(['a error', 'b error']);
  });

  it('gets requests with the same ids from both, and returns each answer to its backend', async () => {
    const gateway = await gatewayTo({ a: await everything(), b: await everything() });
    const client = await SessionClient.open(gateway.url, {}, { elicitation: {}, sampling: {}, roots: {} });
    await client.toolNames();
    const ask = (id: number, name: string) => begin(client, id, 'tools/call', { name, arguments: { message: 'Who?' } });
    const [one, two] = [await ask(101, 'a_test_elicitation'), await ask(102, 'b_test_elicitation')];
    const isQuestion = isMethod('elicitation/create');
    const [first, second] = [await one.waitFor(isQuestion), await two.waitFor(isQuestion)];
    expect(first.id).not.toBe(second.id);
    expect((await answerTo(client, second, { action: 'accept', content: { response: 'second' } })).status).toBe(202);
    expect((await answerTo(client, first, { action: 'accept', content: { response: 'first' } })).status).toBe(202);
    expect(JSON.stringify(await one.waitFor(({ result }) => result !== undefined))).toContain('first');
    expect(JSON.stringify(await two.waitFor(({ result }) => result !== undefined))).toContain('second');
    for (const stream of [one, two]) stream.close();
  });

  it.each([
    [
      'sampling/createMessage',
      'a_test_sampling',
      { prompt: 'p' },
      { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } },
      'sampled',
    ],
    [
      'roots/list',
      'a_test_input_required_result_list_roots',
      {},
      { roots: [{ uri: 'file:///r', name: 'r' }] },
      'file:///r',
    ],
  ])('passes %s on, and its answer back', async (method, name, args, result, expected) => {
    const gateway = await gatewayTo({ a: await everything(), b: await everything() });
    const client = await SessionClient.open(gateway.url, {}, { sampling: {}, roots: {} });
    await client.toolNames();
    const stream = await begin(client, 101, 'tools/call', { name, arguments: args });
    await answerTo(client, await stream.waitFor(isMethod(method)), result);
    expect(JSON.stringify(await stream.waitFor((message) => message.id === 101))).toContain(expected);
    stream.close();
  });

  it('cancels a call only at the backend that runs it', async () => {
    const cancelled: string[] = [];
    let called = 0;
    const watching = (name: string) => ({
      tools: 1,
      intercept: (_request: unknown, response: ServerResponse, body: string) => {
        if (body.includes('notifications/cancelled')) cancelled.push(`${name} ${body}`);
        if (!body.includes('"tools/call"')) return false;
        called += 1;
        response.once('close', () => undefined);
        return true;
      },
    });
    const [a, b] = [closing(await servePlain(watching('a'))), closing(await servePlain(watching('b')))];
    const gateway = await gatewayTo({ a: a.url, b: b.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'call-1', method: 'tools/call', params: { name: 'b_tool_0' } });
    const pending = send(gateway.url, 'POST', client.headers, body).catch(() => undefined);
    await until('the call at the backend', () => called > 0);
    await client.notify('notifications/cancelled', { requestId: 'call-1', reason: 'enough' });
    await client.notify('notifications/cancelled', { requestId: 'unknown' });
    expect(cancelled).toHaveLength(1);
    expect(cancelled[0]).toMatch(/^b .*"requestId":"call-1"/);
    await send(gateway.url, 'DELETE', client.headers);
    await b.close();
    await pending;
  });

  it('resumes a stream that its backend cut, with the id of its last event', async () => {
    const gateway = await gatewayTo({ a: await everything(), b: await everything() });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const stream = await begin(client, 101, 'tools/call', { name: 'b_test_reconnection', arguments: {} });
    await until('an event', () => stream.events().length > 0);
    const id = stream.events().at(-1)?.id;
    expect(id).toMatch(/^b:/);
    await sleep(300);
    const resumed = await client.stream({ 'last-event-id': id ?? '' });
    expect(await resumed.waitFor((message) => message.id === 101)).toMatchObject({
      result: { content: [{ text: 'Reconnection test completed successfully.' }] },
    });
    for (const one of [stream, resumed]) one.close();
  });

  it('subscribes to a resource at the backend that has it, and gets its updates', async () => {
    const gateway = await gatewayTo({ a: await everything(), b: closing(await servePlain({ tools: 1 })).url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const stream = await client.stream();
    const uri = 'test://watched-resource';
    expect((await client.request('resources/subscribe', { uri })).answer.result).toEqual({});
    await sleep(100);
    await client.call('a_test_trigger_resource_update', { content: 'new' });
    expect(await stream.waitFor(isMethod('notifications/resources/updated'))).toMatchObject({ params: { uri } });
    expect((await client.request('resources/unsubscribe', { uri })).answer.result).toEqual({});
    stream.close();
  });

  it('answers an unknown cursor with an error, not with the first page', async () => {
    const gateway = await gatewayTo({ a: closing(await servePlain({ tools: 1 })).url });
    const client = await SessionClient.open(gateway.url);
    expect((await client.request('tools/list', { cursor: 'made-up' })).answer.error?.code).toBe(-32602);
    expect((await sendModern(gateway.url, 'tools/list', { cursor: 'x' })).answer.error?.code).toBe(-32602);
  });

  it('lists all pages of a backend', async () => {
    const gateway = await gatewayTo({ a: closing(await servePlain({ tools: 2_500 })).url });
    expect(await (await SessionClient.open(gateway.url)).toolNames()).toHaveLength(2_500);
  });
});
