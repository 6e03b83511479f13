import { describe, expect, it } from '@jest/globals';
import { recordName } from './record-seal.ts';
import { sessionLogId, storedSessionLogId } from './session-log-id.ts';

describe('sessionLogId', () => {
  it('returns 16 hexadecimal digits that do not occur in the id', () => {
    const id = 'a4Zq0pV1r8c3kYt6x2Bn5mW7sLd9fGhJ';
    expect(sessionLogId(id)).toMatch(/^[0-9a-f]{16}$/);
    expect(sessionLogId(id)).not.toBe(sessionLogId(`${id}x`));
  });
});

describe('storedSessionLogId', () => {
  it('returns the name of the session that the record belongs to', () => {
    expect(storedSessionLogId(recordName('an-id', 'a-principal').key)).toBe(sessionLogId('an-id'));
  });
});
