import { describe, expect, it } from '@jest/globals';
import { awaitsClient, noteQuestion } from './client-questions.ts';
import { dropLegsAt } from './end-legs.ts';
import { newSession } from './session.ts';

const PROFILE = {
  paramsText: '{}',
  capabilities: '{}',
  revision: '2025-11-25',
  clientName: undefined,
  clientVersion: undefined,
};

describe('dropLegsAt', () => {
  it('ends the questions of a backend that was made anew, so that deadlines run again', () => {
    const session = newSession({
      ...{ id: 's', principal: 'ann', countedFor: 'ann', profile: PROFILE },
      ...{ openedAt: 0, lastUsed: 0 },
    });
    noteQuestion(session, '1', { backend: 'anew', call: undefined });
    noteQuestion(session, '2', { backend: 'same', call: undefined });
    dropLegsAt(['anew'], [session]);
    expect(['anew', 'same'].map((backend) => awaitsClient(session, backend, '7'))).toEqual([false, true]);
  });
});
