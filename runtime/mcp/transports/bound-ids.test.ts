import { describe, expect, it } from '@jest/globals';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { BoundIds } from './bound-ids.ts';

const bytes = (message: object) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
function bind(ids: BoundIds, message: object): { id?: unknown; params?: { requestId?: unknown } } {
  const line = bytes(message);
  return JSON.parse(ids.bind(line, decodeBackendMessage(line)!).toString()) as { id?: unknown };
}

describe('BoundIds', () => {
  it.each([[7], ['seven'], ['"\\é']])('returns the id %j unchanged, with its type', (id) => {
    const ids = new BoundIds();
    const bound = bind(ids, { id, method: 'sampling/createMessage', params: {} });
    expect(typeof bound.id).toBe('string');
    const released = ids.release(bytes({ id: bound.id, result: {} }));
    expect(JSON.parse(released!.toString())).toEqual({ jsonrpc: '2.0', id, result: {} });
    const cancelled = bind(ids, { method: 'notifications/cancelled', params: { requestId: id } });
    expect(cancelled.params?.requestId).toBe(bound.id);
  });

  it('rejects an answer with the id of another channel', () => {
    const bound = bind(new BoundIds(), { id: 1, method: 'ping' });
    expect(new BoundIds().release(bytes({ id: bound.id, result: {} }))).toBeUndefined();
    expect(new BoundIds().release(bytes({ id: 1, result: {} }))).toBeUndefined();
  });

  it('returns a message without ids unchanged', () => {
    const ids = new BoundIds();
    const line = bytes({ method: 'notifications/message', params: { data: 1 } });
    expect(ids.bind(line, decodeBackendMessage(line)!)).toBe(line);
    const own = bytes({ method: 'notifications/roots/list_changed' });
    expect(ids.release(own)).toBe(own);
  });
});
