import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Era } from '../era.ts';
import { decodeRequest } from './decode-request.ts';
import { mentionsTasks, withoutTasks } from './strip-tasks.ts';

fc.configureGlobal({ seed: 20_251_125 });

const EXTENSION = 'io.modelcontextprotocol/tasks';
const DECLARED = 'io.modelcontextprotocol/clientCapabilities';

/** Returns the decoded rest of a request with these params. */
function strip(params: unknown, spaces = 0, era: Era = 'legacy'): unknown {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, undefined, spaces));
  const message = decodeRequest(body);
  const stripped = mentionsTasks(message, era) ? withoutTasks(message, body, era) : body;
  const { params: left } = JSON.parse(stripped.toString('utf8')) as { params: unknown };
  expect(mentionsTasks(decodeRequest(stripped), era)).toBe(false);
  return left;
}

describe('withoutTasks', () => {
  it('removes params.task of 2026-07-28 at any position and in any spelling', () => {
    const others = fc.uniqueArray(fc.constantFrom('name', 'arguments', 'é "x"', 'last'), { maxLength: 4 });
    const value = fc.oneof(fc.jsonValue(), fc.constant({ task: '"task": 1,' }));
    fc.assert(
      fc.property(others, fc.nat(4), value, fc.constantFrom(0, 2), (keys, at, task, spaces) => {
        const members: [string, unknown][] = keys.map((key) => [key, { of: key }]);
        const expected = Object.fromEntries(members);
        members.splice(Math.min(at, members.length), 0, ['task', task]);
        expect(strip(Object.fromEntries(members), spaces, 'modern')).toEqual(expected);
      }),
    );
  });

  it('removes only the declaration from the params of initialize', () => {
    const capabilities = { roots: {}, tasks: { list: {} }, extensions: { [EXTENSION]: {}, x: { tasks: 1 } } };
    expect(strip({ protocolVersion: '2025-11-25', capabilities })).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { roots: {}, extensions: { x: { tasks: 1 } } },
    });
  });

  it.each([
    [{ extensions: { [EXTENSION]: {} } }, { extensions: {} }],
    [{ tasks: {}, elicitation: {} }, { elicitation: {} }],
  ])('removes the declaration %j from _meta', (declared, left) => {
    const _meta = { own: 1, [DECLARED]: declared, 'own/too': 2 };
    expect(strip({ _meta, name: 'x' })).toEqual({ _meta: { ..._meta, [DECLARED]: left }, name: 'x' });
  });

  it('keeps the extension of a client of 2026-07-28, and removes the older form', () => {
    const declared = { tasks: {}, extensions: { [EXTENSION]: {} } };
    const params = { _meta: { [DECLARED]: declared }, task: {}, name: 'x' };
    const left = { _meta: { [DECLARED]: { extensions: { [EXTENSION]: {} } } }, name: 'x' };
    expect(strip(params, 0, 'modern')).toEqual(left);
  });

  it('keeps a message without tasks', () => {
    const body = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"task":1,"tasks":2}}}',
    );
    expect(mentionsTasks(decodeRequest(body), 'legacy')).toBe(false);
  });

  it('decodes keys with escapes', () => {
    const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","t\\u0061sk":{}}}');
    const stripped = withoutTasks(decodeRequest(body), body, 'modern').toString('utf8');
    expect(JSON.parse(stripped)).toMatchObject({ params: { name: 'x' } });
    expect(stripped).not.toContain('sk');
  });
});
