import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { jsonSchemaLeaves } from '#operator/testdata/json-schema-leaves';
import { RECORDED_BODY_FIELDS } from '../records/recorded-only.ts';
import { WorkloadDetail } from '../records/workload.ts';
import { SETTING_EFFECTS } from '../testdata/body-effects.ts';
import { type Body, type Effect, openBodyFixture } from '../testdata/body-fixture.ts';
import { SKILL_EFFECTS } from '../testdata/skill-body-effects.ts';
import { WORKLOAD_EFFECTS } from '../testdata/workload-body-effects.ts';
import { NoBody } from '../operation.ts';
import { OPERATIONS } from './table.ts';

const EFFECTS: Readonly<Record<string, Effect>> = { ...SETTING_EFFECTS, ...SKILL_EFFECTS, ...WORKLOAD_EFFECTS };

/** Workload fields have a test of their own, except `name`, which only createWorkload accepts. */
const isOfWorkload = (id: string, leaf: string) => {
  const [field = ''] = leaf.split('.', 1);
  return id === 'editWorkload' || (id === 'createWorkload' && field !== 'name' && field in WorkloadDetail.shape);
};

const fields = OPERATIONS.filter(({ body }) => body !== NoBody).flatMap(({ id, body }) =>
  jsonSchemaLeaves(body)
    .filter((leaf) => !isOfWorkload(id, leaf))
    .map((leaf) => `${id} ${leaf}`),
);

/** Returns the observed effect of one of the two bodies, in an environment of its own. */
async function observed(field: string, { before, params = {}, bodies, observe }: Effect, which: 0 | 1) {
  const [id = '', leaf = ''] = field.split(' ');
  const fixture = await openBodyFixture();
  try {
    await before?.(fixture);
    const both = await bodies(fixture);
    expect(differing(...both)).toEqual([leaf.split('.*', 1)[0]]);
    const answer = await fixture.call(id, { params, body: both[which] });
    // The API must accept the first body; it may reject the second.
    if (which === 0) expect(answer.status).toBeLessThan(300);
    const seen = JSON.stringify(await observe(fixture, answer));
    return seen.replaceAll(fixture.base, 'base').replaceAll(new URL(fixture.source).host, 'source');
  } finally {
    await fixture.close();
  }
}

/** Returns the paths of the fields that differ between two bodies. */
function differing(one: Body, other: Body): string[] {
  return Object.keys({ ...one, ...other }).flatMap((name) => {
    const [mine, its] = [one[name], other[name]];
    if (isDeepStrictEqual(mine, its)) return [];
    const isObject = [mine, its].every((value) => typeof value === 'object' && !Array.isArray(value));
    return isObject ? differing(mine as Body, its as Body).map((inner) => `${name}.${inner}`) : [name];
  });
}

describe('request body fields', () => {
  it('have either a tested effect or an entry in RECORDED_BODY_FIELDS', () => {
    expect([...Object.keys(EFFECTS), ...Object.keys(RECORDED_BODY_FIELDS)].sort()).toEqual([...fields].sort());
  });

  it.each(Object.entries(EFFECTS))('take effect: %s', async (field, effect) => {
    const seen = await observed(field, effect, 0);
    // Two runs with the same body must agree, or a difference proves nothing.
    expect(await observed(field, effect, 0)).toBe(seen);
    expect(await observed(field, effect, 1)).not.toBe(seen);
  });
});
