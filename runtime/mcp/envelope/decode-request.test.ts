import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RequestError } from '#runtime/errors';
import { decodeRequest } from './decode-request.ts';
import { duplicateKeysIn } from './duplicate-keys.ts';
import { MAX_DEPTH } from './scan-json.ts';
import type { Span } from './scan-envelope.ts';
import { splice } from './splice.ts';

fc.configureGlobal({ seed: 20_251_125 });

const bytes = (text: string) => Buffer.from(text, 'utf8');
const call = (params: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;

function refusal(body: Buffer | string): { status: number; code: number | undefined; text: string } {
  try {
    decodeRequest(typeof body === 'string' ? bytes(body) : body);
  } catch (error) {
    if (error instanceof RequestError)
      return { status: error.answer.status, code: error.answer.rpc?.code, text: error.answer.text };
    throw error;
  }
  throw new Error('the message was accepted');
}
const at = (body: Buffer, span: Span | undefined) => span && body.toString('utf8', span.start, span.end);

describe('decodeRequest', () => {
  it('decodes a request and the ranges of its values', () => {
    const body = bytes(
      ' {"jsonrpc":"2.0", "id" : "a1","method":"tools/call","params":{"_meta":{"progressToken":7,"x":{}},' +
        '"name":"größe","arguments":{"name":"inner","uri":[1]},"ref":{"type":"ref/prompt","name":"p"}}} ',
    );
    const message = decodeRequest(body);
    expect(message).toMatchObject({ kind: 'request', id: 'a1', idText: '"a1"', method: 'tools/call' });
    const { spans } = message;
    expect(at(body, spans.id)).toBe('"a1"');
    expect(at(body, spans['params.name'])).toBe('"größe"');
    expect(at(body, spans['params.arguments'])).toBe('{"name":"inner","uri":[1]}');
    expect(at(body, spans['params._meta'])).toBe('{"progressToken":7,"x":{}}');
    expect(at(body, spans['params._meta.progressToken'])).toBe('7');
    expect(at(body, spans['params.ref.name'])).toBe('"p"');
    expect(spans['params.uri']).toBeUndefined();
    expect(message.kind === 'request' && message.params?.name).toBe('größe');
  });

  it('distinguishes requests, notifications and responses', () => {
    expect(decodeRequest(bytes('{"jsonrpc":"2.0","method":"notifications/initialized"}')).kind).toBe('notification');
    expect(decodeRequest(bytes('{"jsonrpc":"2.0","id":3,"result":{}}'))).toMatchObject({
      kind: 'response',
      outcome: 'result',
      idText: '3',
    });
    expect(decodeRequest(bytes('{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}'))).toMatchObject({
      kind: 'response',
      outcome: 'error',
    });
  });

  it('returns one id text for all spellings of an id', () => {
    const idText = (id: string) => {
      const message = decodeRequest(bytes(`{"jsonrpc":"2.0","method":"ping","id":${id}}`));
      return message.kind === 'request' ? message.idText : undefined;
    };
    expect(idText('"\\u0061"')).toBe(idText('"a"'));
    expect(idText('1.0')).toBe('1');
    expect(idText('"1"')).toBe('"1"');
    expect(idText('9007199254740993')).toBe('9007199254740993');
  });

  it.each([
    ['null', 'null'],
    ['a fraction', '1.5'],
    ['a boolean', 'true'],
    ['an object', '{}'],
    ['a list', '[1]'],
    ['a number without end', '1e400'],
    ['a very long string', `"${'x'.repeat(1025)}"`],
  ])('rejects the id %s', (_, id) => {
    expect(refusal(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).toMatchObject({ status: 400, code: -32600 });
  });

  it.each([
    ['nothing', ''],
    ['half a message', '{"jsonrpc":"2.0","id":1,"method":"pi'],
    ['text after the message', '{"jsonrpc":"2.0","id":1,"method":"ping"}x'],
    ['two messages', '{"jsonrpc":"2.0","id":1,"method":"ping"}{}'],
    ['a trailing comma', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
    ['brackets that do not match', call('{"name":"x","arguments":[}}')],
    ['a bare control character', call('{"name":"a\nb"}')],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['single quotes', "{'jsonrpc':'2.0'}"],
  ])('rejects %s as a parse error', (_, body) => {
    expect(refusal(body)).toMatchObject({ status: 400, code: -32700 });
  });

  it('rejects bytes that are not UTF-8', () => {
    const body = Buffer.concat([bytes(call('{"name":"').slice(0, -1)), Buffer.from([0xc3, 0x28]), bytes('"}}')]);
    expect(refusal(body)).toMatchObject({ status: 400, code: -32700 });
    const overlong = Buffer.concat([bytes('{"jsonrpc":"2.0","id":"'), Buffer.from([0xc0, 0xa2]), bytes('"}')]);
    expect(refusal(overlong)).toMatchObject({ code: -32700 });
  });

  it.each([
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'],
    ['an empty batch', '[]'],
    ['a string', '"ping"'],
    ['another JSON-RPC version', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ['no JSON-RPC version', '{"id":1,"method":"ping"}'],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":1}'],
    ['params in a list', call('[]')],
    ['params that are null', call('null')],
    ['_meta that is null', call('{"_meta":null}')],
    ['a request that is a response', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}'],
    ['a response with two outcomes', '{"jsonrpc":"2.0","id":1,"error":{},"result":{}}'],
    ['a response with a null result', '{"jsonrpc":"2.0","id":1,"result":null}'],
    ['neither', '{"jsonrpc":"2.0","id":1}'],
  ])('rejects %s as an invalid request', (_, body) => {
    expect(refusal(body)).toMatchObject({ status: 400, code: -32600 });
  });

  it.each([
    ['in the envelope', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'],
    ['in params', call('{"name":"shown","name":"hidden"}')],
    ['in _meta', call('{"_meta":{"progressToken":1,"progressToken":2}}')],
    ['in ref', call('{"ref":{"type":"ref/prompt","name":"shown","name":"hidden"}}')],
    ['written with an escape', '{"jsonrpc":"2.0","id":1,"method":"ping","me\\u0074hod":"tools/call"}'],
    ['unknown to the gateway', call('{"name":"x","other":1,"other":2}')],
    ['outside ASCII', call('{"name":"x","ö":1,"\\u00f6":2}')],
    ['among many', call(`{${Array.from({ length: 500 }, (_, i) => `"k${i}":0`).join()},"k3":1}`)],
    ['two that differ by case only', call('{"other":1,"Other":2}')],
  ])('rejects a duplicate key %s', (_, body) => {
    expect(refusal(body)).toMatchObject({ status: 400, code: -32600, text: 'a key occurs twice' });
  });

  it.each([
    ['Method', '{"jsonrpc":"2.0","id":1,"Method":"ping"}'],
    ['ID', '{"jsonrpc":"2.0","ID":1,"method":"ping"}'],
    ['paramſ, which folds to params', '{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{}}'],
    ['Arguments', call('{"name":"x","Arguments":{}}')],
    ['an escaped Name', call('{"\\u004eame":"x"}')],
    ['_Meta', call('{"_Meta":{}}')],
    ['ProgressToken', call('{"_meta":{"ProgressToken":1}}')],
  ])('rejects the case variant %s', (_, body) => {
    expect(refusal(body)).toMatchObject({ status: 400, code: -32600 });
  });

  it('resolves escapes in keys', () => {
    const message = decodeRequest(bytes('{"jsonrpc":"2.0","\\u0069d":5,"me\\u0074hod":"ping"}'));
    expect(message).toMatchObject({ kind: 'request', idText: '5', method: 'ping' });
  });

  it('rejects deep nesting before the parse, and accepts the deepest allowed level', () => {
    const nested = (depth: number) => call(`{"name":"x","arguments":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(refusal(nested(10_000))).toMatchObject({ status: 400, code: -32600 });
    expect(refusal('['.repeat(1_000_000))).toMatchObject({ status: 400 });
    expect(decodeRequest(bytes(nested(MAX_DEPTH - 2))).kind).toBe('request');
    expect(refusal(nested(MAX_DEPTH - 1))).toMatchObject({ code: -32600 });
  });

  it('ignores quotes, brackets and backslashes inside strings', () => {
    const argument = `{"a":"\\\\","b":"}\\"{[${'\\\\\\"'.repeat(40)}","c":"${'x'.repeat(60)}\\\\"}`;
    const body = bytes(call(`{"name":"x","arguments":${argument},"cursor":"c"}`));
    const { spans } = decodeRequest(body);
    expect(at(body, spans['params.arguments'])).toBe(argument);
    expect(at(body, spans['params.cursor'])).toBe('"c"');
  });
});

describe('decodeRequest at the end of a string', () => {
  it('finds the closing quote after any number of backslashes and quotes', () => {
    for (let length = 0; length < 64; length++)
      for (let slashes = 0; slashes < 5; slashes++) {
        const argument = JSON.stringify({
          a: `${'x'.repeat(length)}${'\\'.repeat(slashes)}"},"${'\\'.repeat(slashes)}`,
        });
        const body = bytes(call(`{"name":"x","arguments":${argument},"cursor":"c"}`));
        const { spans } = decodeRequest(body);
        expect(at(body, spans['params.arguments'])).toBe(argument);
        expect(at(body, spans['params.cursor'])).toBe('"c"');
      }
  });
});

describe('decodeRequest with arbitrary input', () => {
  const word = fc.oneof(fc.constantFrom('name', 'id', 'a', 'ö', '"', '\\', 'params'), fc.string());
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      word,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(
        fc.string({ maxLength: 5 }).map((key) => `x-${key.toLowerCase()}`),
        tie('value'),
        { maxKeys: 4 },
      ),
    ),
  })).value;
  const space = fc.constantFrom('', ' ', '\n\t ', '\r\n');

  it('finds the same ranges as a JSON parser in every message', () => {
    const message = fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.oneof(fc.integer(), fc.string()),
      method: fc.string({ minLength: 1 }),
      params: fc.record(
        { name: word, uri: word, arguments: json, _meta: fc.record({ progressToken: word }), cursor: json },
        { requiredKeys: [] },
      ),
    });
    fc.assert(
      fc.property(message, space, fc.boolean(), (sent, indent, isReversed) => {
        const entries = Object.entries(sent);
        const text = JSON.stringify(Object.fromEntries(isReversed ? entries.reverse() : entries), null, indent.length);
        const body = bytes(indent + text + indent);
        const { spans } = decodeRequest(body);
        const read = (span: Span | undefined): unknown => (span ? JSON.parse(at(body, span) ?? '') : undefined);
        const plain = JSON.parse(text);
        expect(read(spans.id)).toEqual(plain.id);
        expect(read(spans.params)).toEqual(plain.params);
        for (const key of ['name', 'uri', 'arguments', '_meta', 'cursor'] as const)
          expect(read(spans[`params.${key}`])).toEqual(plain.params[key]);
        expect(read(spans['params._meta.progressToken'])).toEqual(plain.params._meta?.progressToken);
      }),
    );
  });

  it('returns a message or a 400 for every sequence of bytes', () => {
    const valid = bytes(call('{"name":"x","arguments":{"a":[1,{"b":"\\"}"}]},"_meta":{"progressToken":1}}'));
    const mutated = fc
      .array(fc.tuple(fc.nat(valid.length - 1), fc.integer({ min: 0, max: 255 })), { maxLength: 4 })
      .map((changes) => {
        const copy = Buffer.from(valid);
        for (const [index, byte] of changes) copy[index] = byte;
        return copy;
      });
    const any = fc.oneof(
      mutated,
      fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array)),
    );
    fc.assert(
      fc.property(any, (body) => {
        let parsed: unknown;
        try {
          parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
        } catch {
          expect(refusal(body)).toMatchObject({ status: 400 });
          return;
        }
        try {
          const { spans } = decodeRequest(body);
          expect(JSON.parse(at(body, spans.jsonrpc) ?? '')).toBe('2.0');
          expect(parsed).toMatchObject({ jsonrpc: '2.0' });
        } catch (error) {
          expect(error).toMatchObject({ answer: { status: 400, rpc: { code: -32600 } } });
        }
      }),
      { numRuns: 500 },
    );
  });

  it('gives ranges that change nothing else when they are replaced', () => {
    fc.assert(
      fc.property(word, json, word, (name, argument, replacement) => {
        const body = bytes(call(JSON.stringify({ _meta: { k: name }, name, arguments: argument, cursor: null })));
        const span = decodeRequest(body).spans['params.name']!;
        const changed = splice(body, [{ ...span, text: JSON.stringify(replacement) }]);
        const original = JSON.parse(body.toString());
        original.params.name = replacement;
        expect(changed.toString()).toBe(JSON.stringify(original));
      }),
    );
  });
});

describe('duplicateKeysIn', () => {
  const inArguments = (argument: string) => {
    const body = bytes(call(`{"name":"x","arguments":${argument}}`));
    return duplicateKeysIn(body, decodeRequest(body).spans['params.arguments']!);
  };
  it.each([
    ['{"a":1,"a":2}', true],
    ['{"a":{"b":[{"c":1,"c":1}]}}', true],
    ['{"ab":1,"a\\u0062":2}', true],
    ['{"ö":1,"\\u00f6":2}', true],
    ['{"a":{"a":{"a":1}},"b":{"a":1}}', false],
    ['{"a":"a","b":"a","c":["a","a"]}', false],
    ['{"a":1,"A":2}', false],
    ['["a","a"]', false],
  ])('checks %s and returns %p', (argument, expected) => {
    expect(inArguments(argument)).toBe(expected);
  });
});

describe('splice', () => {
  it('accepts edits in any order and inserts at empty ranges', () => {
    const edits = [
      { start: 4, end: 6, text: 'é' },
      { start: 0, end: 0, text: '<' },
      { start: 1, end: 2, text: '' },
    ];
    expect(splice(bytes('abcdefgh'), edits).toString()).toBe('<acdégh');
  });
  it('rejects overlapping edits', () => {
    const edits = [
      { start: 0, end: 3, text: '' },
      { start: 2, end: 4, text: '' },
    ];
    expect(() => splice(bytes('abcdefgh'), edits)).toThrow('overlap');
  });
  it('returns the same buffer without edits', () => {
    const body = bytes('{}');
    expect(splice(body, [])).toBe(body);
  });
});
