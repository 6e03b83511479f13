import { describe, expect, it } from '@jest/globals';
import { TokenSlots } from './token-slots.ts';

describe('TokenSlots', () => {
  it('returns one slot for each user and provider', () => {
    const slots = new TokenSlots(() => 0);
    const slot = slots.open('github', 'alice');
    expect(slots.open('github', 'alice')).toBe(slot);
    expect(slots.find('github', 'alice')).toBe(slot);
    expect(slots.find('google', 'alice')).toBeUndefined();
    expect(slots.find('github', 'bob')).toBeUndefined();
    expect(slots.of('alice')).toEqual([slot]);
  });

  it('removes the oldest of more than ten thousand slots', () => {
    const slots = new TokenSlots(() => 0);
    for (let user = 0; user <= 10_000; user++) slots.open('github', `user-${user}`);
    expect(slots.find('github', 'user-0')).toBeUndefined();
    expect(slots.find('github', 'user-1')).toBeDefined();
    slots.open('google', 'alice');
    expect(slots.find('github', 'user-1')).toBeUndefined();
  });

  it('removes unused slots, except those with a running read', () => {
    let now = 1;
    const slots = new TokenSlots(() => now);
    slots.open('github', 'gone');
    slots.open('github', 'busy').reading = new Promise(() => undefined);
    slots.open('github', 'known').knownUntil = 200_000;
    now = 120_000;
    slots.open('github', 'new');
    expect(slots.find('github', 'gone')).toBeUndefined();
    expect(slots.find('github', 'busy')).toBeDefined();
    expect(slots.find('github', 'known')).toBeDefined();
  });
});
