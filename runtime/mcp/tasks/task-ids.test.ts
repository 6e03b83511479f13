import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { TaskIds } from './task-ids.ts';

const secret = () => ({ file: 'x', content: randomBytes(32) });
const idsWith = (file = secret(), server = 'a') => {
  const ring = createSecretRing([file], { now: Date.now, random: randomBytes });
  return new TaskIds(
    () => ring,
    () => server,
  );
};
const task = { backend: 'b', id: 'ä "1"', tool: 'b_tool', session: undefined };

describe('TaskIds', () => {
  it('opens its own ids for their principal', () => {
    const ids = idsWith();
    const id = ids.seal(task, 'alice');
    expect(id).toMatch(/^[\w.-]+$/);
    expect(ids.open(id, 'alice')).toEqual(task);
    expect(ids.open(id, 'bob')).toBeUndefined();
  });

  it('opens ids that another process has sealed with the secret for the same server', () => {
    const file = secret();
    const id = idsWith(file).seal(task, 'alice');
    expect(idsWith(file).open(id, 'alice')).toEqual(task);
    expect(idsWith(file, 'other').open(id, 'alice')).toBeUndefined();
    expect(idsWith().open(id, 'alice')).toBeUndefined();
  });

  it('rejects an id that is changed in any character, or written in another form', () => {
    const ids = idsWith();
    const id = ids.seal(task, 'alice');
    for (let at = 0; at < id.length; at += 1) {
      const other = id[at] === 'A' ? 'B' : 'A';
      expect(ids.open(id.slice(0, at) + other + id.slice(at + 1), 'alice')).toBeUndefined();
    }
    for (const text of ['', 'x', `${id}=`, `${id}.`, ` ${id}`, `${id}.x`])
      expect(ids.open(text, 'alice')).toBeUndefined();
  });
});
