import { describe, expect, it } from '@jest/globals';
import type { AnswerSink, BackendCall, StreamEvent } from '#runtime/mcp/backends/backend';
import { translateApps } from './translate-apps.ts';

const ALIASES = {
  toAlias: new Map([['ui://x/a', 'ui://b.x/a']]),
  toOwn: new Map([['ui://b.x/a', 'ui://x/a']]),
};

function translated(method: string, body: string, headers: string[] = []) {
  const events: StreamEvent[] = [];
  const answers: string[] = [];
  const sink = {
    json: (_status: number, answer: Buffer) => answers.push(answer.toString()),
    event: (event: StreamEvent) => events.push(event),
    part: () => undefined,
  } as unknown as AnswerSink;
  const call = { method, body: Buffer.from(body), headers, sink } as unknown as BackendCall;
  return { call: translateApps(call, ALIASES), events, answers };
}

describe('translateApps', () => {
  it('sends the own URI in the body and its header', () => {
    const { call } = translated('resources/read', '{"params":{"uri":"ui://b.x/a"}}', [
      'mcp-name',
      'ui://b.x/a',
      'x',
      'ui://b.x/a',
    ]);
    expect(call.body?.toString()).toBe('{"params":{"uri":"ui://x/a"}}');
    expect(call.headers).toEqual(['mcp-name', 'ui://x/a', 'x', 'ui://b.x/a']);
  });

  it.each([
    ['{"uri":"ui://x/a"}', '{"uri":"ui://b.x/a"}'],
    [String.raw`{"uri":"ui:\/\/x\/a"}`, '{"uri":"ui://b.x/a"}'],
    ['{"uri":"ui://x/ab"}', '{"uri":"ui://x/ab"}'],
    [
      String.raw`{"text":"see \"ui://x/a\"","uri":"ui://x/a"}`,
      String.raw`{"text":"see \"ui://x/a\"","uri":"ui://b.x/a"}`,
    ],
    [String.raw`{"n":1.0,"a":"\"ui://x/a"}`, String.raw`{"n":1.0,"a":"\"ui://x/a"}`],
  ])('answers %s as %s', (answer, expected) => {
    const { call, answers } = translated('tools/call', '{}');
    call.sink.json(200, Buffer.from(answer), 'result', undefined);
    expect(answers).toEqual([expected]);
    expect(call.sink).not.toHaveProperty('part');
  });

  it('reports an update of an app at the URI that clients see', () => {
    const { call, events } = translated('resources/subscribe', '{}');
    const data = '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"ui://x/a"}}';
    call.sink.event({ id: undefined, retry: undefined, data, message: undefined });
    expect(events[0]?.data).toContain('"uri":"ui://b.x/a"');
    const span = events[0]?.message?.spans['params.uri'];
    expect(span && events[0]?.data.slice(span.start, span.end)).toBe('"ui://b.x/a"');
  });

  it('leaves answers of lists to the aggregation', () => {
    const { call, answers } = translated('tools/list', '{}');
    call.sink.json(200, Buffer.from('{"uri":"ui://x/a"}'), 'result', undefined);
    expect(answers).toEqual(['{"uri":"ui://x/a"}']);
  });
});
