import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { jsonSchemaLeaves } from '#operator/testdata/json-schema-leaves';
import { RECORDED_BODY_FIELDS } from '../records/recorded-only.ts';
import { WorkloadDetail } from '../records/workload.ts';
import { SETTING_EFFECTS } from '../testdata/body-effects.ts';
import { type Body, type Effect, openBodyPlace } from '../testdata/body-place.ts';
import { SKILL_EFFECTS } from '../testdata/skill-body-effects.ts';
import { WORKLOAD_EFFECTS } from '../testdata/workload-body-effects.ts';
import { NoBody } from '../operation.ts';
import { OPERATIONS } from './table.ts';

const EFFECTS: Readonly<Record<string, Effect>> = { ...SETTING_EFFECTS, ...SKILL_EFFECTS, ...WORKLOAD_EFFECTS };

/** Fields of a workload have a test of their own, apart from the name, which only a new workload is given. */
const isOfWorkload = (id: string, leaf: string) => {
  const [field = ''] = leaf.split('.', 1);
  return id === 'editWorkload' || (id === 'createWorkload' && field !== 'name' && field in WorkloadDetail.shape);
};

const fields = OPERATIONS.filter(({ body }) => body !== NoBody).flatMap(({ id, body }) =>
  jsonSchemaLeaves(body)
    .filter((leaf) => !isOfWorkload(id, leaf))
    .map((leaf) => `${id} ${leaf}`),
);

/** Returns what follows from one of the two bodies of an effect, at a place of its own. */
async function observed(field: string, { before, params = {}, bodies, observe }: Effect, which: 0 | 1) {
  const [id = '', leaf = ''] = field.split(' ');
  const place = await openBodyPlace();
  try {
    await before?.(place);
    const both = await bodies(place);
    expect(differing(...both)).toEqual([leaf.split('.*', 1)[0]]);
    const answer = await place.call(id, { params, body: both[which] });
    // The first of them is accepted.
    if (which === 0) expect(answer.status).toBeLessThan(300);
    const seen = JSON.stringify(await observe(place, answer));
    return seen.replaceAll(place.base, 'base').replaceAll(new URL(place.source).host, 'source');
  } finally {
    await place.close();
  }
}

/** Paths of the fields in which two bodies differ. */
function differing(one: Body, other: Body): string[] {
  return Object.keys({ ...one, ...other }).flatMap((name) => {
    const [mine, its] = [one[name], other[name]];
    if (isDeepStrictEqual(mine, its)) return [];
    const isObject = [mine, its].every((value) => typeof value === 'object' && !Array.isArray(value));
    return isObject ? differing(mine as Body, its as Body).map((inner) => `${name}.${inner}`) : [name];
  });
}

describe('the fields of a request body', () => {
  it('take effect, each of them, or are recorded only', () => {
    expect([...Object.keys(EFFECTS), ...Object.keys(RECORDED_BODY_FIELDS)].sort()).toEqual([...fields].sort());
  });

  it.each(Object.entries(EFFECTS))('take effect: %s', async (field, effect) => {
    const seen = await observed(field, effect, 0);
    // What differs by itself shows no effect.
    expect(await observed(field, effect, 0)).toBe(seen);
    expect(await observed(field, effect, 1)).not.toBe(seen);
  });
});
