import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '#operator/testdata/manual-clock';
import { KeepClients } from './keep-clients.ts';

function kept(update: (namespace: string) => Promise<Map<string, unknown>>) {
  const clock = new ManualClock();
  const [asked, told]: [string[], string[]] = [[], []];
  const keep = new KeepClients({
    clientsOf: (namespace) => ({
      update: () => {
        asked.push(namespace);
        return update(namespace);
      },
    }),
    clock,
    onProblem: (text) => void told.push(text),
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, asked, told, keep, settled };
}

describe('KeepClients', () => {
  it('waits for a quiet period and updates each namespace once', async () => {
    const { clock, asked, keep, settled } = kept(() => Promise.resolve(new Map<string, unknown>()));
    keep.changed(['a']);
    clock.pass(400);
    keep.changed(['a', 'b']);
    clock.pass(400);
    expect(asked).toEqual([]);
    clock.pass(100);
    await settled();
    expect(asked).toEqual(['a', 'b']);
  });

  it('reports a problem once, and again if it returns', async () => {
    let problem: Error | undefined = new Error('it is locked');
    const { clock, told, keep, settled } = kept(() =>
      Promise.resolve(new Map(problem === undefined ? [] : [['cursor', problem]])),
    );
    const round = async () => {
      keep.changed(['a']);
      clock.pass(500);
      await settled();
    };
    await round();
    await round();
    expect(told).toEqual(['client cursor: it is locked']);
    problem = undefined;
    await round();
    problem = new Error('it is locked');
    await round();
    expect(told).toHaveLength(2);
  });

  it('continues after a failure and does nothing after `close`', async () => {
    const { clock, asked, told, keep, settled } = kept(() => Promise.reject(new Error('the folder is away')));
    keep.changed(['a']);
    clock.pass(500);
    await settled();
    expect(told).toEqual(['clients: the folder is away']);
    keep.changed(['a']);
    await keep.close();
    clock.pass(5000);
    keep.changed(['a']);
    clock.pass(5000);
    await settled();
    expect(asked).toEqual(['a']);
  });
});
