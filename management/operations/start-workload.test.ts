import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Caller, Operation } from '../operation.ts';
import { Problem } from '../problem.ts';
import { SEARCH, type WorkloadsFixture, openWorkloadsFixture } from '../workloads/testdata/workloads-fixture.ts';
import { deleteWorkloads, restartWorkload, restartWorkloads, startWorkload, stopWorkload } from './workloads.ts';

let fixture: WorkloadsFixture;
beforeEach(() => {
  fixture = openWorkloadsFixture();
});
afterEach(async () => {
  await fixture.services().operations.idle();
  fixture.remove();
});

/** Caller that may update workloads but may not read Secrets. */
const keyless: Caller = {
  name: 'keyless',
  check: ({ resource, name }) =>
    resource === 'secrets'
      ? Promise.reject(new Problem('forbidden', `keyless may not get ${resource} "${name}"`))
      : Promise.resolve(),
};
const everybody: Caller = { name: 'everybody', check: () => Promise.resolve() };

const does = (operation: Operation, caller: Caller, body?: object) =>
  operation.call(
    { params: body ? {} : { name: 'search' }, query: {}, body, caller, signal: AbortSignal.timeout(60_000) },
    fixture.services(),
  );
const MANY = { names: ['search'] };
const isStopped = () => fixture.read('search.yaml').includes('suspend: true');

describe('a workload that refers to a Secret', () => {
  it.each([
    ['a start', startWorkload, undefined],
    ['a restart', restartWorkload, undefined],
    ['a restart of many', restartWorkloads, MANY],
  ])('requires permission to read the Secret when it starts: %s', async (_, operation, body) => {
    await does(stopWorkload, keyless);
    const forbidden = { code: 'forbidden', message: expect.stringContaining('may not get secrets "company"') };
    await expect(does(operation, keyless, body)).rejects.toMatchObject(forbidden);
    expect(isStopped()).toBe(true);
    await does(operation, everybody, body);
    await fixture.services().operations.idle();
    expect(isStopped()).toBe(false);
  });

  it('restarts without that permission while it runs', async () => {
    await does(restartWorkload, keyless);
    await does(restartWorkloads, keyless, MANY);
    expect(fixture.read('search.yaml')).toContain('restarted-at');
  });
});

/** Caller that may list workloads and change only `search`. */
const ofSearch: Caller = {
  name: 'of-search',
  check: ({ verb, resource, name }) =>
    resource === 'mcpservers' && verb !== 'list' && name !== 'search'
      ? Promise.reject(new Problem('forbidden', `of-search may not ${verb} ${resource} "${name}"`))
      : Promise.resolve(),
};

it.each([
  ['deletes', deleteWorkloads],
  ['starts anew', restartWorkloads],
])(
  'a caller with permission for one workload %s only that one, and no workload if the body names another',
  async (_, operation) => {
    const other = SEARCH.replace('search #', 'other #');
    fixture.write('other.yaml', other);
    for (const body of [{ names: ['search', 'other'] }, { names: ['other'] }, { group: 'tools' }])
      await expect(does(operation, ofSearch, body)).rejects.toMatchObject({ code: 'forbidden' });
    expect([fixture.read('search.yaml'), fixture.read('other.yaml')]).toEqual([SEARCH, other]);
    await does(operation, ofSearch, MANY);
    await fixture.services().operations.idle();
    expect([fixture.read('search.yaml') === SEARCH, fixture.read('other.yaml')]).toEqual([false, other]);
  },
);
