import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { RequestError, type PublicAnswer } from '#runtime/errors';
import { answerError } from './answer-error.ts';

describe('answerError', () => {
  let server: Server;
  let url: string;
  let fail: (res: ServerResponse) => unknown;
  let rpcId: string | undefined;
  let told: PublicAnswer | undefined;

  beforeAll(async () => {
    server = createServer((_req, res) => {
      Promise.resolve()
        .then(() => fail(res))
        .catch((error: unknown) => (told = answerError(res, error, { requestId: 'req-1', rpcId })));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const call = async (failing: typeof fail, id?: string) => {
    [fail, rpcId, told] = [failing, id, undefined];
    const answer = await request(url, { method: 'POST', body: '{}' });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  };
  const throwing = (answer: PublicAnswer) => () => {
    throw new RequestError(answer, { cause: new Error('private cause') });
  };

  it('answers with the status, headers and fixed text of a RequestError', async () => {
    const answer = { status: 401, code: 'invalid_token', text: 'No', headers: { 'WWW-Authenticate': 'Bearer' } };
    const { status, headers, text } = await call(throwing(answer));
    expect(status).toBe(401);
    expect(headers).toMatchObject({
      'www-authenticate': 'Bearer',
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-request-id': 'req-1',
    });
    expect(JSON.parse(text)).toEqual({ error: 'invalid_token', error_description: 'No' });
    expect(told).toEqual(answer);
  });

  it.each(['7', '"abc"', '9007199254740993', 'null'])('answers JSON-RPC with the unchanged id %s', async (id) => {
    const answer = { status: 200, code: 'denied', text: 'No', rpc: { code: 403, data: { policy: 'p1' } } };
    const { status, text } = await call(throwing(answer), id);
    expect(status).toBe(200);
    expect(text).toBe(`{"jsonrpc":"2.0","id":${id},"error":{"code":403,"message":"No","data":{"policy":"p1"}}}`);
  });

  it('answers with a null id if the request’s id is unknown, and without absent data', async () => {
    const { text } = await call(throwing({ status: 400, code: 'parse', text: 'Parse error', rpc: { code: -32700 } }));
    expect(text).toBe('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}');
  });

  it('reveals nothing about an unexpected error', async () => {
    const text200 = { status: 200, text: 'secret detail' };
    for (const thrown of [new Error('secret detail'), 'secret detail', null, text200] as Error[]) {
      const { status, text } = await call(() => {
        throw thrown;
      });
      expect(status).toBe(500);
      expect(JSON.parse(text)).toEqual({ error: 'internal', error_description: 'Internal error', request_id: 'req-1' });
    }
    const { status, text } = await call(() => Promise.reject(new Error('secret detail')), '5');
    expect(status).toBe(500);
    expect(text).toBe('{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"Internal error"}}');
  });

  it('never reveals the cause', async () => {
    const { headers, text } = await call(throwing({ status: 503, code: 'x', text: 'Later' }));
    expect(JSON.stringify(headers) + text).not.toContain('private cause');
  });

  it('closes the connection after a body that is too large', async () => {
    const { headers } = await call(throwing({ status: 413, code: 'too_large', text: 'Too large' }));
    expect(headers.connection).toBe('close');
  });

  it('cuts off an answer that has begun, so that the client does not take it for complete', async () => {
    const broken = call((res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.write('{"jsonrpc":"2.0","id":1,"result":');
      return new Promise((_resolve, reject) => setImmediate(() => reject(new Error('late'))));
    });
    await expect(broken).rejects.toThrow();
    expect(told).toMatchObject({ status: 500 });
  });

  it('leaves an answer unchanged that is finished or whose client has disconnected', async () => {
    const { status, text } = await call((res) => {
      res.end('done');
      throw new Error('late');
    });
    expect([status, text]).toEqual([200, 'done']);
    await expect(
      call((res) => {
        res.destroy();
        throw new Error('late');
      }),
    ).rejects.toThrow();
    expect(told).toMatchObject({ status: 500 });
  });
});
