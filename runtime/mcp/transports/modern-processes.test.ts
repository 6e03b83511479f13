import { afterEach, describe, expect, it } from '@jest/globals';
import type { BackendCall } from '#runtime/mcp/backends/backend';
import { BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { Deadlines } from '#runtime/mcp/backends/deadlines';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import type { ChannelCall, ChannelEvents } from './channel.ts';
import { ChannelExchange } from './channel-exchange.ts';
import { ModernProcesses } from './modern-processes.ts';

let now = 0;
const ignore = () => undefined;
const deadlines = new Deadlines(() => now);
const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((one) => one.close()));
  deadlines.close();
});

class FakeChannel {
  readonly noise = { garbage: 0, stray: 0, oversized: 0 };
  readonly isOver = false;
  readonly isHeld = false;
  hasSpoken = true;
  isClosed = false;
  readonly calls: ChannelCall[] = [];
  readonly cancelled: number[] = [];
  readonly sent: string[] = [];
  readonly events: ChannelEvents;
  constructor(events: ChannelEvents) {
    this.events = events;
  }
  call(call: ChannelCall): number {
    return this.calls.push(call);
  }
  readonly forget = ignore;
  cancel(id: number): void {
    this.cancelled.push(id);
  }
  send(body: Buffer): boolean {
    return this.sent.push(body.toString()) > 0;
  }
  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
  say(message: object): void {
    const line = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.events.onUnsolicited(line, decodeBackendMessage(line)!);
  }
}

function start(isShared: boolean) {
  now = 0;
  const channels: FakeChannel[] = [];
  const processes = new ModernProcesses({
    ...{ name: 'b', isShared, max: 2, idle: 600_000, giveWay: 60_000 },
    backoff: { first: 500, last: 30_000, healthy: 60_000 },
    now: () => now,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    onListChanged: ignore,
    open(events) {
      const channel = new FakeChannel(events);
      channels.push(channel);
      return channel;
    },
  });
  closing.push(processes);
  const request = (key: string, more: Partial<BackendCall> = {}) => {
    const [events, failures]: [string[], string[]] = [[], []];
    const exchange = new ChannelExchange(
      { name: 'b', deadlines, bufferedBytes: new BufferedBytes(1_000), isSilentStart: false, settled: ignore },
      {
        ...{ identity: { key } as never, era: 'modern', method: 'tools/call', idText: '1', verb: 'POST' },
        ...{ body: Buffer.from('{}'), headers: [], deadline: 0, idempotent: false },
        sink: {
          ...{ json: ignore, accepted: ignore, open: ignore, close: ignore },
          event: ({ data }) => void events.push(data),
          fail: ({ reason }) => void failures.push(reason),
        },
        ...more,
      },
    );
    processes.request(exchange);
    return { events, failures, exchange };
  };
  return { channels, processes, request };
}

const LOG = { method: 'notifications/message', params: { level: 'info', data: 'secret' } };

describe('ModernProcesses', () => {
  it('gives each principal a process, and a shared process to all', () => {
    for (const [isShared, count] of [
      [false, 2],
      [true, 1],
    ] as const) {
      const { request, processes } = start(isShared);
      for (const key of ['ada', 'ben', 'ada']) request(key);
      expect(processes.starts).toBe(count);
    }
  });

  it('refuses a principal while all processes are in use, and replaces one that is idle', () => {
    const { request, channels } = start(false);
    const { exchange } = request('ada');
    request('ben');
    now = 100_000;
    expect(request('cleo').failures).toEqual(['busy']);
    exchange.answer(Buffer.from('{}'), 'result');
    now = 200_000;
    expect(request('cleo').failures).toEqual([]);
    expect(channels.map(({ isClosed }) => isClosed)).toEqual([true, false, false]);
  });

  it('passes a log message to the call that runs, and to none while principals share the process', () => {
    const { request, channels } = start(true);
    const ada = request('ada');
    channels[0]?.say(LOG);
    expect(ada.events).toHaveLength(1);
    const ben = request('ben');
    channels[0]?.say(LOG);
    expect([ada.events.length, ben.events.length]).toEqual([1, 0]);
  });

  it('passes a notification of a subscription to its own stream alone', () => {
    const { request, channels } = start(true);
    const [one, two] = [request('ada', { method: 'subscriptions/listen' }), request('ada')];
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 1 };
    channels[0]?.say({ method: 'notifications/resources/updated', params: { uri: 'a', _meta } });
    expect([one.events.length, two.events.length]).toEqual([1, 0]);
  });

  it('answers a request of the server with an error', () => {
    const { request, channels } = start(true);
    request('ada');
    channels[0]?.say({ id: 7, method: 'roots/list' });
    expect(channels[0]?.sent[0]).toContain('"id":7,"error":{"code":-32601');
  });

  it('cancels a request whose client left', () => {
    const { request, channels } = start(true);
    request('ada').exchange.abort();
    expect(channels[0]?.cancelled).toEqual([1]);
  });

  it('ends a shared process that answers no probe', () => {
    const { request, channels, processes } = start(true);
    for (let probe = 0; probe < 3; probe++) request('gateway', { isProbe: true }).exchange.expire();
    expect(channels[0]?.isClosed).toBe(true);
    request('ada');
    expect(processes.starts).toBe(2);
  });

  it('ends the process of a probe, if processes are not shared', () => {
    const { request, channels } = start(false);
    request('gateway', { isProbe: true }).exchange.answer(Buffer.from('{}'), 'result');
    expect(channels[0]?.isClosed).toBe(true);
  });

  it('waits before it replaces a process that ended without an answer', () => {
    const { request, channels } = start(true);
    request('ada');
    channels[0]!.hasSpoken = false;
    channels[0]?.events.onExit('exited with code 1');
    expect(request('ada').failures).toEqual(['unavailable']);
    now = 500;
    expect(request('ada').failures).toEqual([]);
  });
});
