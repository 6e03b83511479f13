import { describe, expect, it } from '@jest/globals';
import { readModernMessage, toLegacyRequest } from './modern-message.ts';

const OWN = '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"info"';

const legacy = (params: string) =>
  toLegacyRequest(
    readModernMessage(Buffer.from(`{"jsonrpc":"2.0","id":"é","method":"tools/call","params":${params}}`)),
    '7',
  ).toString();

describe('toLegacyRequest', () => {
  it.each([
    [`{"_meta":{${OWN}},"name":"a"}`, '{"name":"a"}'],
    [`{"name":"a","_meta":{${OWN}}}`, '{"name":"a"}'],
    [`{"_meta":{${OWN}}}`, '{}'],
    [`{"name":"a","_meta":{${OWN},"x":"é"},"z":1}`, '{"name":"a","_meta":{"x":"é"},"z":1}'],
    [`{"_meta":{"progressToken":"p",${OWN}}}`, '{"_meta":{"progressToken":7}}'],
    [`{"_meta":{${OWN},"x":1,"progressToken":5}}`, '{"_meta":{"x":1,"progressToken":7}}'],
    [`{"a":1,"inputResponses":{},"requestState":"s","_meta":{${OWN}}}`, '{"a":1}'],
    [`{"inputResponses":{},"a":{"requestState":1},"requestState":"s","_meta":{}}`, '{"a":{"requestState":1}}'],
  ])('turns the params %s into %s', (params, expected) => {
    expect(legacy(params)).toBe(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${expected}}`);
  });
});

describe('readModernMessage', () => {
  it('reads the progress token and the log level', () => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"\\u0061",${OWN}}}}`;
    expect(readModernMessage(Buffer.from(body))).toMatchObject({ progressToken: '"a"', logLevel: 'info' });
  });
});
