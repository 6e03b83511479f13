import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { SseClient } from './sse-client.ts';

const res = new ServerResponse(new IncomingMessage(new Socket()));
afterEach(() => void res.destroy());

it('lets all waiting answers continue with one drain event of a slow client', () => {
  const identity = { key: 'alice' } as ConstructorParameters<typeof SseClient>[1];
  const client = new SseClient('1', identity, res, new BufferedBytes(134_217_728));
  client.open();
  let wentOn = 0;
  const more = () => {
    wentOn += 1;
  };
  for (let answer = 0; answer < 20; answer += 1) client.pass([Buffer.alloc(100_000)], more);
  expect([wentOn, res.listenerCount('drain')]).toEqual([0, 1]);
  res.emit('drain');
  expect(wentOn).toBe(20);
});
