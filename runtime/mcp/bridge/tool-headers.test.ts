import { describe, expect, it } from '@jest/globals';
import { headerArguments, headersOf, mismatchedHeader } from './tool-headers.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    limits: { type: 'object', properties: { cpu: { type: 'integer', 'x-mcp-header': 'Cpu' } } },
    plain: { type: 'string' },
    bad: { type: 'string', 'x-mcp-header': 'no token' },
  },
};
const DECLARED = headerArguments(SCHEMA);

describe('headerArguments', () => {
  it('finds arguments at all depths, and skips names that are no header', () => {
    expect(DECLARED).toEqual([
      { path: ['region'], header: 'mcp-param-region' },
      { path: ['limits', 'cpu'], header: 'mcp-param-cpu' },
    ]);
  });

  it('ends at a schema that contains itself', () => {
    const endless: { properties: Record<string, unknown> } = { properties: {} };
    endless.properties.self = endless;
    expect(headerArguments(endless)).toEqual([]);
  });
});

describe('headersOf', () => {
  it('encodes what is no visible ASCII, and leaves out absent arguments and objects', () => {
    expect(headersOf(DECLARED, { region: 'Zürich', limits: { cpu: 4 } })).toEqual([
      ...['mcp-param-region', '=?base64?WsO8cmljaA==?='],
      ...['mcp-param-cpu', '4'],
    ]);
    expect(headersOf(DECLARED, { region: null, limits: { cpu: {} } })).toEqual([]);
    expect(headersOf(DECLARED, undefined)).toEqual([]);
  });
});

describe('mismatchedHeader', () => {
  it.each([
    ['the same text', { region: 'eu' }, ['mcp-param-region', 'eu'], undefined],
    ['the encoded text', { region: 'Zürich' }, ['mcp-param-region', '=?base64?WsO8cmljaA==?='], undefined],
    ['an equal number', { limits: { cpu: 4 } }, ['mcp-param-cpu', '4.0'], undefined],
    ['a header without an argument', {}, ['mcp-param-region', 'eu'], undefined],
  ])('accepts %s', (_what, given, headers, expected) => {
    expect(mismatchedHeader(DECLARED, given, headers)).toBe(expected);
  });

  it.each([
    ['a missing header', { region: 'eu' }, [], 'mcp-param-region'],
    ['another text', { region: 'eu' }, ['mcp-param-region', 'us'], 'mcp-param-region'],
    ['invalid Base64', { region: 'eu' }, ['mcp-param-region', '=?base64?%%?='], 'mcp-param-region'],
    ['another number', { limits: { cpu: 4 } }, ['mcp-param-cpu', '5'], 'mcp-param-cpu'],
    ['the header as a value only', { region: 'x' }, ['other', 'mcp-param-region'], 'mcp-param-region'],
  ])('names %s', (_what, given, headers, expected) => {
    expect(mismatchedHeader(DECLARED, given, headers)).toBe(expected);
  });
});
