import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { request, type ClientRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../../e2e/gateway/until.ts';
import { createListener, type RouteHandler } from './listener.ts';
import { createOpeningGate, type OpeningGate } from './opening-gate.ts';

describe('OpeningGate', () => {
  let gate: OpeningGate;
  let server: Server;
  let [come, gone, served] = [0, 0, 0];
  beforeEach(async () => {
    gate = createOpeningGate(2);
    [come, gone, served] = [0, 0, 0];
    server = createListener({ tls: undefined, route: gate.route, failed: () => undefined });
    server.on('request', (_req, res) => {
      come += 1;
      res.once('close', () => (gone += 1));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Sends a request and settles with the status. */
  function ask(path: string): { readonly asked: ClientRequest; readonly status: Promise<number | undefined> } {
    const asked = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, path, agent: false });
    const status = new Promise<number | undefined>((resolve) => {
      asked.on('response', (answer) => resolve(answer.resume().statusCode));
      asked.on('error', () => resolve(undefined));
    });
    asked.end();
    return { asked, status };
  }
  const serve: RouteHandler = (_req, res) => {
    served += 1;
    res.writeHead(204).end();
  };
  const open = () => gate.open((path) => (path === '/mcp' ? serve : undefined));

  it('holds requests and serves them after opening', async () => {
    const [found, missed] = [ask('/mcp'), ask('/other')];
    await until('both requests', () => come === 2);
    open();
    expect(await Promise.all([found.status, missed.status])).toEqual([204, 404]);
  });

  it('answers 503 to requests over the limit', async () => {
    const waiting = [ask('/mcp'), ask('/mcp')];
    await until('both requests', () => come === 2);
    expect(await ask('/mcp').status).toBe(503);
    open();
    expect(await Promise.all(waiting.map(({ status }) => status))).toEqual([204, 204]);
  });

  it('forgets a client that disconnects and frees its place', async () => {
    const waiting = [ask('/mcp'), ask('/mcp')];
    await until('both requests', () => come === 2);
    waiting[0]!.asked.destroy();
    await until('the end of the first', () => gone === 1);
    const third = ask('/mcp');
    await until('the third', () => come === 3);
    open();
    expect(await Promise.all([...waiting, third].map(({ status }) => status))).toEqual([undefined, 204, 204]);
    expect(served).toBe(2);
  });
});
