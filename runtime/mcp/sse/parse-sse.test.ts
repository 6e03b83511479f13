import { describe, expect, it } from '@jest/globals';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { createSseParser, LARGE_BYTES, SseEventTooLarge, type SseEvent } from './parse-sse.ts';
import { writeSse } from './write-sse.ts';

fc.configureGlobal({ seed: 20_251_125 });

function parse(chunks: Buffer[], maxEventBytes = 1_000_000): SseEvent[] {
  const events: SseEvent[] = [];
  const parser = createSseParser({ maxEventBytes, onEvent: (event) => events.push(event) });
  for (const chunk of chunks) parser.push(chunk);
  return events;
}
const parseText = (text: string) => parse([Buffer.from(text)]);
const event = (data: string, rest: Partial<SseEvent> = {}): SseEvent => ({
  id: undefined,
  event: undefined,
  retry: undefined,
  data,
  ...rest,
});

describe('createSseParser', () => {
  it.each([
    ['the usual one', 'event: message\ndata: {"a":1}\n\n', [event('{"a":1}', { event: 'message' })]],
    ['all fields', 'id: 7\nretry: 250\nevent: e\ndata: x\n\n', [event('x', { id: '7', retry: 250, event: 'e' })]],
    ['several data lines', 'data: a\ndata\ndata:b\n\n', [event('a\n\nb')]],
    ['CRLF', 'data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n', [event('a\nb'), event('c')]],
    ['CR', 'data: a\rdata: b\r\rdata: c\r\r', [event('a\nb'), event('c')]],
    ['mixed line ends', 'data: a\r\ndata: b\n\rdata: c\r\n\n', [event('a\nb'), event('c')]],
    ['one space of the value', 'data:  a\n\n', [event(' a')]],
    ['a byte order mark', '\ufeffdata: a\n\n', [event('a')]],
    ['comments', ': ping\n\n:\ndata: a\n: x\ndata: b\n\n', [event('a\nb')]],
    [
      'an id without data',
      'id: 1\ndata: \n\nid: 2\n\nretry: 5\n\n',
      [event('', { id: '1' }), event('', { id: '2' }), event('', { retry: 5 })],
    ],
    ['an empty id, which ends resuming', 'id\ndata: a\n\n', [event('a', { id: '' })]],
    ['unknown fields', 'name: x\ndatas: y\nDATA: z\ndata: a\n\n', [event('a')]],
    ['a retry that is no number and an id with NUL', 'retry: 1s\nid: a\0b\ndata: a\n\n', [event('a')]],
    ['an event that ends with the stream', 'data: a\n\ndata: b\n', [event('a')]],
    ['an event name without data', 'event: e\n\ndata: a\n\n', [event('a')]],
  ])('parses %s', (_, text, expected) => {
    expect(parseText(text)).toEqual(expected);
    expect(parse([...Buffer.from(text)].map((byte) => Buffer.from([byte])))).toEqual(expected);
  });

  it('rejects an event above the limit in one line, in many lines, and without an end', () => {
    const limit = 1000;
    expect(parse([Buffer.from(`data: ${'x'.repeat(900)}\n\n`.repeat(50))], limit)).toHaveLength(50);
    for (const text of [
      `data: ${'x'.repeat(1000)}\n\n`,
      'data: xxxxxx\n'.repeat(100),
      'data\n'.repeat(100),
      'x'.repeat(1001),
    ]) {
      expect(() => parse([Buffer.from(text)], limit)).toThrow(SseEventTooLarge);
      expect(() =>
        parse(
          Buffer.from(text)
            .toString()
            .split('')
            .map((c) => Buffer.from(c)),
          limit,
        ),
      ).toThrow(SseEventTooLarge);
    }
  });

  it('accepts an endless stream of comments', () => {
    expect(parse([Buffer.from(': ping\n'.repeat(1000)), Buffer.from('data: a\n\n')], 100)).toEqual([event('a')]);
  });

  it('parses a large event in many chunks in linear time', () => {
    const data = 'x'.repeat(4_000_000);
    const bytes = Buffer.from(`data: ${data}\n\n`);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 100) }, (_, i) =>
      bytes.subarray(i * 100, i * 100 + 100),
    );
    const start = performance.now();
    expect(parse(chunks, 5_000_000)[0]?.data.length).toBe(data.length);
    // Copying the beginning for each chunk would copy 80 GB.
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

const piece = fc.constantFrom(
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  ':',
  ' ',
  'data:',
  'data: ',
  'event: ',
  'id: ',
  'retry: ',
  '12',
  'é',
  '😀',
  'x',
  '\ufeff',
);
const stream = fc.array(fc.oneof(piece, fc.string({ maxLength: 6 })), { maxLength: 40 }).map((parts) => parts.join(''));

describe('createSseParser with arbitrary input', () => {
  it('returns the same events for any chunk borders', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 20 }), (text, cuts) => {
        const bytes = Buffer.from(text);
        const ends = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
        const chunks = ends.slice(1).map((end, i) => bytes.subarray(ends[i], end));
        expect(parse(chunks)).toEqual(parse([bytes]));
      }),
      { numRuns: 1000 },
    );
  });

  it('agrees with the eventsource-parser package on events with data', () => {
    fc.assert(
      fc.property(stream, (text) => {
        // The package returns no events without data, and treats an empty event name as missing.
        const expected: [string, string | undefined, string | undefined][] = [];
        const parser = createParser({ onEvent: ({ data, event: name, id }) => expected.push([data, name, id]) });
        const bytes = Buffer.from(`${text}\n`);
        parser.feed(new TextDecoder().decode(bytes));
        const all = parse([bytes]);
        const actual = all.map(({ data, event: name, id }) => [data, name === '' ? undefined : name, id]);
        expect(actual.filter(([data]) => data !== '')).toEqual(expected.filter(([data]) => data !== ''));
      }),
      { numRuns: 1000 },
    );
  });

  it('parses the output of writeSse', () => {
    const line = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n\0]/.test(text) && text.isWellFormed());
    const outgoing = fc.record(
      {
        data: fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed()),
        id: line,
        event: line,
        retry: fc.nat(99_999),
      },
      { requiredKeys: ['data'] },
    );
    fc.assert(
      fc.property(fc.array(outgoing), (events) => {
        const read = parseText(events.map((one) => writeSse(one)).join(''));
        expect(read).toEqual(
          events
            .map((one) => event(one.data.replaceAll(/\r\n?/g, '\n'), one))
            .map((one) => ({ ...one, data: one.data.replaceAll(/\r\n?/g, '\n') })),
        );
      }),
    );
  });

  it('throws in writeSse for a field with a line break', () => {
    expect(() => writeSse({ data: 'a', id: 'x\ndata: forged' })).toThrow(RangeError);
    expect(() => writeSse({ data: 'a', event: 'x\r' })).toThrow(RangeError);
    expect(writeSse({ data: 'a\nevent: forged\r\n\r\nid: 1' })).toBe(
      'data: a\ndata: event: forged\ndata: \ndata: id: 1\n\n',
    );
  });
});

describe('LargeData', () => {
  const LARGE = 2 * LARGE_BYTES;
  const text = 'x'.repeat(LARGE);

  /** Returns the data of large events and the other events, in order of arrival. */
  function parseLarge(bytes: Buffer, size: number): string[] {
    const seen: string[] = [];
    const parser = createSseParser({
      maxEventBytes: 3 * LARGE,
      onEvent: ({ data, id }) => seen.push(`event ${data} ${id ?? ''}`),
      onLarge: () => {
        const parts: Buffer[] = [];
        return {
          push: (part) => parts.push(part),
          end: ({ id, retry }) => seen.push(`large ${Buffer.concat(parts).toString()} ${id ?? ''} ${retry ?? ''}`),
        };
      },
    });
    for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size));
    // A short placeholder keeps failures readable.
    return seen.map((one) => one.replaceAll(text, '#'));
  }

  it.each(['\n', '\r\n', '\r'])('receives the data of a large event between others, with the line end %j', (end) => {
    const lines = ['data: a', '', 'id: 1', `data: ${text}`, 'retry: 5', '', 'data: b', '', ''];
    for (const size of [65_536, 1_000_003, LARGE_BYTES + 20])
      expect(parseLarge(Buffer.from(lines.join(end)), size)).toEqual(['event a ', 'large # 1 5', 'event b ']);
  });

  it('receives all data lines of an event in order, separated by spaces', () => {
    const lines = ['data: a', `data: ${text}`, 'data: b', `data: ${text}`, 'data', 'id: 2', '', ''];
    expect(parseLarge(Buffer.from(lines.join('\n')), 65_536)).toEqual(['large a # b #  2 ']);
  });

  it('throws above the limit', () => {
    const line = Buffer.from(`data: ${text}${text}${text}`);
    expect(() => parseLarge(line, 65_536)).toThrow(SseEventTooLarge);
  });
});
