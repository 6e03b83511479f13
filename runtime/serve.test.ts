import { afterEach, describe, expect, it } from '@jest/globals';
import { serveGateway, type ServedGateway } from '../e2e/gateway/serve-gateway.ts';

describe('request with an unexpected failure', () => {
  let gateway: ServedGateway | undefined;

  afterEach(() => gateway?.close());

  it('logs the reason under the id in its answer, which does not contain the reason', async () => {
    gateway = await serveGateway({ incoming: { type: 'anonymous' }, backends: [] });
    gateway.runtime.gateway.services.sessions.find = () => {
      throw new Error('the reason');
    };
    const answer = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': 'x',
      },
      body: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}',
    });
    const text = await answer.text();
    expect([answer.status, JSON.parse(text)]).toEqual([
      500,
      { jsonrpc: '2.0', id: 7, error: { code: -32603, message: 'Internal error' } },
    ]);
    const line =
      gateway
        .log()
        .split('\n')
        .find((one) => one.includes('a request failed unexpectedly')) ?? '';
    expect(line).toContain('the reason');
    expect(line).toContain(answer.headers.get('x-request-id') ?? 'no id');
  });
});
