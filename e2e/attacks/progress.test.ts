import { afterEach, describe, expect, it } from '@jest/globals';
import { serveProgress } from '../fakes/progress-server.ts';
import { openStream, send, sendModern, SessionClient, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';

afterEach(closeAll);

const isProgress = ({ method }: Rpc) => method === 'notifications/progress';
const tokensIn = (messages: Rpc[]) => messages.filter(isProgress).map(({ params }) => params?.progressToken);

/** Tokens that a hostile backend guesses, the one of its own call last. */
const GUESSED = ['victim', 7, 'none', '', 'own'];
const wait = (progressToken: string | number) => ({ name: 'a_wait', arguments: {}, _meta: { progressToken } });
const report = (stream: 'call' | 'session', tokens: unknown[], _meta?: object) => ({
  name: 'b_report',
  arguments: { stream, tokens },
  ...(_meta && { _meta }),
});

/** A session with two calls in flight at `a`, whose tokens are `victim` and 7. */
async function sessionWithCalls() {
  const [victim, liar] = [closing(await serveProgress()), closing(await serveProgress())];
  const gateway = await gatewayTo({ a: victim.url, b: liar.url });
  const client = await SessionClient.open(gateway.url);
  await client.toolNames();
  const stream = await client.stream();
  const calls = ['victim', 7].map((token) => client.request('tools/call', wait(token)));
  await until('the calls', () => victim.waiting === 2);
  return { client, stream, victim, liar, calls };
}

describe('a backend that reports progress', () => {
  it('reports it for the call on whose stream it stands, and for no other', async () => {
    const { client, stream, victim, calls } = await sessionWithCalls();
    const lied = await client.request('tools/call', report('call', GUESSED, { progressToken: 'own' }));
    expect(tokensIn(lied.messages)).toEqual(['own']);
    const silent = await client.request('tools/call', report('call', GUESSED));
    expect(tokensIn(silent.messages)).toEqual([]);
    expect(silent.answer.result).toBeDefined();
    victim.release();
    for (const { messages, answer } of await Promise.all(calls)) {
      expect(tokensIn(messages)).toEqual([]);
      expect(answer.result).toBeDefined();
    }
    expect(tokensIn(stream.messages())).toEqual([]);
    stream.close();
  });

  it('reports it on the stream of the session for its own calls in flight', async () => {
    const { client, stream, victim, liar, calls } = await sessionWithCalls();
    const reported = () => tokensIn(stream.messages());
    const own = client.request('tools/call', report('session', GUESSED, { progressToken: 'own' }));
    await until('its progress', () => reported().length > 0);
    const other = client.request('tools/call', report('session', ['8', ...GUESSED, 8], { progressToken: 8 }));
    await until('the progress of the other call', () => reported().includes(8));
    expect(reported()).toEqual(['own', 'own', 8]);
    liar.release();
    await Promise.all([own, other]);
    const last = client.request('tools/call', report('session', ['own', 8, 'last'], { progressToken: 'last' }));
    await until('the progress of the last call', () => reported().includes('last'));
    expect(reported()).toEqual(['own', 'own', 8, 'last']);
    liar.release();
    await last;
    victim.release();
    await Promise.all(calls);
    stream.close();
  });

  it('reports it on the stream of one call for another call of its own', async () => {
    const { client, stream, victim, calls } = await sessionWithCalls();
    const params = { ...report('call', [...GUESSED, '7']), name: 'a_report' };
    expect(tokensIn((await client.request('tools/call', params)).messages)).toEqual(['victim', 7]);
    victim.release();
    await Promise.all(calls);
    stream.close();
  });

  it('reports it for the request that it answers, and for no other: without sessions', async () => {
    const [victim, liar] = [closing(await serveProgress()), closing(await serveProgress())];
    const gateway = await gatewayTo({ a: victim.url, b: liar.url });
    const call = sendModern(gateway.url, 'tools/call', wait('victim'));
    await until('the call', () => victim.waiting === 1);
    const lied = await sendModern(gateway.url, 'tools/call', report('call', GUESSED, { progressToken: 'own' }));
    expect(tokensIn(lied.messages)).toEqual(['own']);
    victim.release();
    expect(tokensIn((await call).messages)).toEqual([]);
  });
});

describe('a client that reports progress', () => {
  it('tells the backend whose request it serves, and no other', async () => {
    const servers = [closing(await serveProgress()), closing(await serveProgress())];
    const gateway = await gatewayTo({ a: servers[0]!.url, b: servers[1]!.url });
    const client = await SessionClient.open(gateway.url, {}, { sampling: {} });
    await client.toolNames();
    const open = (name: string) =>
      openStream(client.url, client.headers, client.message('tools/call', { name, arguments: {} }));
    const streams = [await open('a_ask'), await open('b_ask')];
    const asked = await Promise.all(
      streams.map((stream) => stream.waitFor(({ method }) => method === 'sampling/createMessage')),
    );
    const post = (message: object) =>
      send(client.url, 'POST', client.headers, JSON.stringify({ jsonrpc: '2.0', ...message }));
    const tokens = asked.map(({ params }) => (params?._meta as { progressToken: unknown }).progressToken);
    // Two reports of each, so that neither a lost one nor a token that passes as it is leads to the same number.
    for (const progressToken of [...tokens, ...tokens, 0, 1, 'a:', 'none:0'])
      expect((await post({ method: 'notifications/progress', params: { progressToken, progress: 1 } })).status).toBe(
        202,
      );
    const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } };
    for (const { id } of asked) await post({ id, result });
    const answers = await Promise.all(
      streams.map((stream) => stream.waitFor((message) => message.result !== undefined)),
    );
    expect(answers.map((answer) => answer.result?.content)).toEqual([
      [{ type: 'text', text: '2' }],
      [{ type: 'text', text: '2' }],
    ]);
  });
});

describe('a backend that cancels requests', () => {
  const cancel = (ids: unknown[]) => ({ name: 'b_cancel', arguments: { ids } });
  const cancelledIn = (messages: Rpc[]) =>
    messages.flatMap(({ method, params }) => (method === 'notifications/cancelled' ? [params?.requestId] : []));

  it('names no request of the client in a session', async () => {
    const { client, stream, victim, calls } = await sessionWithCalls();
    const { messages, answer } = await client.request('tools/call', cancel([1, 2, 3, 4, 5, '2']));
    expect(answer.result).toBeDefined();
    const named = cancelledIn(messages);
    expect(named).toHaveLength(7);
    // Ids that the gateway minted for this backend.
    for (const id of named) expect(id).toMatch(/^b:/);
    victim.release();
    for (const { answer: other } of await Promise.all(calls)) expect(other.result).toBeDefined();
    stream.close();
  });

  it('names only the request that it answers: without sessions', async () => {
    const liar = closing(await serveProgress());
    const gateway = await gatewayTo({ b: liar.url });
    const { messages, answer } = await sendModern(gateway.url, 'tools/call', cancel([0, 2, '1']));
    expect(answer.result).toBeDefined();
    expect(cancelledIn(messages)).toEqual([1]);
  });
});
