import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { redirectAnswer, type Answer } from '../handler.ts';
import { hashId } from '../ids.ts';
import { createMemoryStorage } from '../storage/memory.ts';
import { StorageUnavailable, type AuthStorage } from '../storage/storage.ts';
import { FRAME } from '../testdata/serve-routes.ts';
import { createRepeatAnswer } from './repeat-answer.ts';

type Request = Parameters<ReturnType<typeof createRepeatAnswer>>[0];

const PLACE = { namespace: 'team', name: 'tools', uid: '1' };
const PENDING = 100;
const SECOND = 1_000;

/** Returns a repeater with numbered answers, and its storage. */
function setUp(wrap: (storage: AuthStorage) => AuthStorage = (storage) => storage) {
  const clock = { time: 1_800_000_000_000 };
  const now = () => clock.time;
  const memory = createMemoryStorage({ now });
  const storage = wrap(memory);
  const secrets = createSecretRing([], { now, random: randomBytes });
  const repeat = (place = PLACE, ring = secrets) =>
    createRepeatAnswer({ storage, secrets: ring, place, frame: FRAME, limits: { pending_logins: PENDING }, now });
  let acts = 0;
  const act = (answer?: Partial<Answer>) => () => {
    acts += 1;
    return Promise.resolve({ ...redirectAnswer(`https://app.example/?n=${acts}`), ...answer });
  };
  const send = async (request: Partial<Request>, answer?: Partial<Answer>, by = repeat()) => {
    const whole: Request = {
      endpoint: 'consent',
      browser: { id: 'b', isNew: false },
      content: [['ticket', 't']],
      ...request,
    };
    const { headers, body } = await by(whole, act(answer));
    return headers.Location ?? body;
  };
  return { clock, storage: memory, secrets, repeat, send, acts: () => acts };
}

const FIRST = 'https://app.example/?n=1';
const SECOND_ANSWER = 'https://app.example/?n=2';

describe('createRepeatAnswer', () => {
  it.each<[string, Partial<Request>]>([
    ['another browser', { browser: { id: 'c', isNew: false } }],
    ['a browser that has the cookie from this answer only', { browser: { id: 'b', isNew: true } }],
    ['another endpoint', { endpoint: 'connections' }],
    ['another ticket', { content: [['ticket', 'u']] }],
    [
      'a field more',
      {
        content: [
          ['ticket', 't'],
          ['decision', 'allow'],
        ],
      },
    ],
    ['the same text cut elsewhere', { content: ['ticket', 't'] }],
    ['no content', { content: [] }],
  ])('returns no stored answer to %s', async (_, other) => {
    const { send, acts } = setUp();
    expect(await send({})).toBe(FIRST);
    expect(await send(other)).toBe(SECOND_ANSWER);
    expect(await send({})).toBe(FIRST);
    expect(acts()).toBe(2);
  });

  it('rejects an answer that was moved to another request in the storage', async () => {
    const { send, storage } = setUp();
    const keyOf = (ticket: string) => hashId(JSON.stringify(['consent', 'b', [['ticket', ticket]]]));
    expect(await send({})).toBe(FIRST);
    const row = await storage.get('answer', keyOf('t'));
    if (row === undefined) throw new Error('no answer was stored');
    await storage.put('answer', keyOf('u'), row, { lifespan: 30 * SECOND });
    expect(await send({ content: [['ticket', 'u']] })).toBe(SECOND_ANSWER);
  });

  it('rejects an answer of another server or under another secret', async () => {
    const { send, repeat } = setUp();
    expect(await send({})).toBe(FIRST);
    const elsewhere = repeat({ ...PLACE, uid: '2' });
    expect(await send({}, {}, elsewhere)).toBe(SECOND_ANSWER);
    const otherRing = createSecretRing([], { now: () => 0, random: randomBytes });
    expect(await send({}, {}, repeat(PLACE, otherRing))).toBe('https://app.example/?n=3');
  });

  it('returns the finished page for a redeemed, expired or unknown code', async () => {
    const { send } = setUp();
    expect(await send({}, { code: 'no such code' })).toBe(FIRST);
    expect(await send({})).toContain('This sign-in is finished');
  });

  it('returns the first answer to another variant for ten seconds, and to the same variant for thirty', async () => {
    const { send, clock, acts } = setUp();
    const content = ['okta', 'state'];
    expect(await send({ content, variant: 'code=1' })).toBe(FIRST);
    clock.time += 10 * SECOND;
    expect(await send({ content, variant: 'code=2' })).toBe(FIRST);
    clock.time += 1;
    expect(await send({ content, variant: 'code=1' })).toBe(FIRST);
    expect(await send({ content, variant: 'code=2' })).toBe(SECOND_ANSWER);
    clock.time += 30 * SECOND + 1;
    expect(await send({ content, variant: 'code=2' })).toBe('https://app.example/?n=3');
    expect(acts()).toBe(3);
  });

  it('stores no failure, no page without changes, and nothing for a browser without the cookie', async () => {
    const { repeat, send, acts } = setUp();
    const request: Request = { endpoint: 'consent', browser: { id: 'b', isNew: false }, content: [] };
    await expect(repeat()(request, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await send({ content: [] }, { changedNothing: true })).toBe(FIRST);
    expect(await send({ content: [], browser: { id: 'b', isNew: true } })).toBe(SECOND_ANSWER);
    expect(await send({ content: [] })).toBe('https://app.example/?n=3');
    expect(acts()).toBe(3);
  });

  it('acts once when the answer cannot be stored, and not at all without a lease', async () => {
    const down = new Set<string>(['put']);
    const { send, acts } = setUp(
      (storage) =>
        new Proxy(storage, {
          get(target, name) {
            const member: unknown = Reflect.get(target, name, target);
            if (down.has(String(name))) return () => Promise.reject(new StorageUnavailable('down'));
            return typeof member === 'function' ? (member.bind(target) as unknown) : member;
          },
        }),
    );
    expect(await send({})).toBe(FIRST);
    down.add('lease');
    await expect(send({ content: [] })).rejects.toThrow(StorageUnavailable);
    expect(acts()).toBe(1);
  });
});
