import { afterEach, describe, expect, it } from '@jest/globals';
import type { ListKind } from './aggregate/list-kinds.ts';
import { createListChangedNotifier } from './list-changed-notifier.ts';
import type { Session } from './sessions/session.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const session = (principal: string) =>
  ({ principal, openedAt: 0, stream: undefined, changed: undefined }) as unknown as Session;

function open(...sessions: Session[]) {
  const listChangedNotifier = createListChangedNotifier({
    invalidate: () => undefined,
    sessions: () => sessions,
    now: () => 1,
  });
  closing.push(() => listChangedNotifier.close());
  const received = (principal: string) =>
    new Promise<ReadonlySet<ListKind>>((resolve) =>
      listChangedNotifier.subscribe({ principal, changed: resolve, end: () => resolve(new Set()) }),
    );
  return { listChangedNotifier, received };
}

describe('ListChangedNotifier', () => {
  it('notifies only the sessions and listeners of the principal that changed', async () => {
    const [alice, bob] = [session('alice'), session('bob')];
    const { listChangedNotifier, received } = open(alice, bob);
    const [toAlice, toBob] = [received('alice'), received('bob')];
    listChangedNotifier.announceTo('alice', ['tools']);
    listChangedNotifier.announceTo('alice', ['prompts']);
    expect(await toAlice).toEqual(new Set(['tools', 'prompts']));
    expect(alice.changed).toEqual(new Set(['tools', 'prompts']));
    expect(bob.changed).toBeUndefined();
    listChangedNotifier.close();
    expect(await toBob).toEqual(new Set());
  });

  it('combines it with a general change, also for a session that knows that change', async () => {
    const [alice, bob] = [session('alice'), session('bob')];
    const { listChangedNotifier, received } = open(alice, bob);
    const toAlice = received('alice');
    listChangedNotifier.listChanged('files', ['resources'], alice);
    listChangedNotifier.announceTo('alice', ['tools']);
    expect(await toAlice).toEqual(new Set(['resources', 'tools']));
    expect(alice.changed).toEqual(new Set(['tools']));
    expect(bob.changed).toEqual(new Set(['resources']));
  });
});
