import { describe, expect, it } from '@jest/globals';
import { awaitsClient, noteQuestion } from './client-questions.ts';
import { dropBackendSessionsAt } from './end-backend-sessions.ts';
import { anySession } from './testdata/any-session.ts';

describe('dropBackendSessionsAt', () => {
  it('ends the questions of a replaced backend, so that deadlines run again', () => {
    const session = anySession();
    noteQuestion(session, '1', { backend: 'anew', call: undefined });
    noteQuestion(session, '2', { backend: 'same', call: undefined });
    dropBackendSessionsAt(['anew'], [session]);
    expect(['anew', 'same'].map((backend) => awaitsClient(session, backend, '7'))).toEqual([false, true]);
  });

  it('keeps the questions of running calls, which go on at the former backend', () => {
    const session = anySession();
    noteQuestion(session, '1', { backend: 'anew', call: '7' });
    dropBackendSessionsAt(['anew'], [session]);
    expect(['7', '8'].map((call) => awaitsClient(session, 'anew', call))).toEqual([true, false]);
  });
});
