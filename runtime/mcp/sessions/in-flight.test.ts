import { describe, expect, it } from '@jest/globals';
import { takeCallEvent } from './call-event.ts';
import { cancelInFlight, enterCall, expectCancelled, keepCall, ownersOf, sentCallOf } from './in-flight.ts';
import { newSession, type InFlightCall } from './session.ts';

const profile = {
  paramsText: '{}',
  capabilities: '{}',
  revision: '2025-11-25',
  clientName: undefined,
  clientVersion: undefined,
};
const sessionUsedAt = (lastUsed: number) =>
  newSession({ id: 's', principal: 'p', countedFor: 'p', profile, openedAt: 0, lastUsed });

function callAt(backend: string): InFlightCall & { ended: number } {
  const call = {
    backend,
    progressToken: undefined,
    isResumable: false,
    ended: 0,
    cancel: () => {
      call.ended += 1;
    },
  };
  return call;
}

describe('expectCancelled', () => {
  it('stops one request that arrives within two seconds', () => {
    const session = sessionUsedAt(1_000);
    expectCancelled(session, '1', 1_000);
    session.lastUsed = 2_500;
    expect(enterCall(session, '1', callAt('a'))).toBe(false);
    expect(enterCall(session, '1', callAt('a'))).toBe(true);
  });

  it('passes a request that arrives later', () => {
    const session = sessionUsedAt(1_000);
    expectCancelled(session, '1', 1_000);
    session.lastUsed = 3_001;
    expect(enterCall(session, '1', callAt('a'))).toBe(true);
  });

  it('bounds the memory of a flood of cancellations with long ids', () => {
    const session = sessionUsedAt(0);
    for (let nr = 0; nr < 5_000; nr += 1)
      expectCancelled(session, JSON.stringify(`${String(nr)}${'\u0001'.repeat(1_000)}`), 0);
    expect(session.cancelled).toBeUndefined();
    for (let nr = 0; nr < 5_000; nr += 1) expectCancelled(session, String(nr), 0);
    expect(session.cancelled?.size).toBe(1_000);
  });
});

describe('keepCall', () => {
  it('keeps the backend of a request whose client left, but no id of 1,000 characters', () => {
    const session = sessionUsedAt(0);
    for (const id of ['1', JSON.stringify('x'.repeat(1_000))]) {
      const call = callAt('a');
      enterCall(session, id, call);
      keepCall(session, id, call);
    }
    expect([...(session.inFlight ?? [])].map(([id, { backend }]) => [id, backend])).toEqual([['1', 'a']]);
  });
});

describe('sentCallOf', () => {
  it('returns the progress token of a kept request, unless that is too long to keep', () => {
    const session = sessionUsedAt(0);
    const tokens = ['7', JSON.stringify('x'.repeat(1_000)), undefined];
    for (const [at, progressToken] of tokens.entries()) {
      const call = { ...callAt('a'), progressToken };
      enterCall(session, String(at), call);
      keepCall(session, String(at), call);
    }
    const kept = tokens.map((_token, at) => sentCallOf(session, 'a', String(at))?.progressToken);
    expect(kept).toEqual(['7', null, undefined]);
    expect(sentCallOf(session, 'b', '0')).toBeUndefined();
  });

  it('returns a request that another replica sent, one of the last hundred', () => {
    const session = sessionUsedAt(0);
    for (let id = 0; id <= 100; id += 1)
      takeCallEvent(session, { type: 'sent', id: String(id), backend: 'a', progressToken: `"${id}"` }, 0);
    expect(sentCallOf(session, 'a', '0')).toBeUndefined();
    expect(sentCallOf(session, 'a', '1')).toEqual({ backend: 'a', progressToken: '"1"' });
  });
});

describe('ownersOf', () => {
  it('returns the newest request of another replica with the token, and those of this one before it', () => {
    const session = sessionUsedAt(0);
    const sent = (id: string, backend: string) =>
      takeCallEvent(session, { type: 'sent', id, backend, progressToken: '"p"' }, 0);
    const owners = () => ownersOf(session, '"p"').map(({ backend }) => backend);
    for (const [id, backend] of ['a', 'b'].entries()) sent(String(id), backend);
    expect(owners()).toEqual(['b']);
    for (const backend of ['c', 'd']) enterCall(session, `"${backend}"`, { ...callAt(backend), progressToken: '"p"' });
    expect(owners()).toEqual(['c', 'd']);
    expect(ownersOf(session, '"q"')).toEqual([]);
  });
});

describe('takeCallEvent', () => {
  it('stops a request that arrives here just after another replica received its cancellation', () => {
    // This replica has served no request of the session for over a minute.
    const session = sessionUsedAt(1_000);
    takeCallEvent(session, { type: 'cancelled', id: '1' }, 90_000);
    session.lastUsed = 90_500;
    expect(enterCall(session, '1', callAt('a'))).toBe(false);
  });

  it('ends the in-flight request of this session and id only', () => {
    const [session, other] = [sessionUsedAt(0), sessionUsedAt(0)];
    const [call, beside, foreign] = [callAt('a'), callAt('a'), callAt('a')];
    enterCall(session, '1', call);
    enterCall(session, '"1"', beside);
    enterCall(other, '1', foreign);
    takeCallEvent(session, { type: 'cancelled', id: '1' }, 0);
    expect([call.ended, beside.ended, foreign.ended]).toEqual([1, 0, 0]);
    expect(cancelInFlight(session, '1')).toBe(false);
  });
});
