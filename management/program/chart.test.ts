import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { FLAG_GROUPS } from './flags.ts';

const TEMPLATE = join(import.meta.dirname, '../../charts/vmcp/templates/management/deployment.yaml');

it('the chart sets only flags of the management API', () => {
  const given = [...readFileSync(TEMPLATE, 'utf8').matchAll(/^ +- (--[a-z-]+)/gm)].map(([, flag]) => flag);
  const known = Object.values(FLAG_GROUPS)
    .flat()
    .map(({ long }) => long);
  expect(given.length).toBeGreaterThan(5);
  expect(given.filter((flag) => !known.includes(flag))).toEqual([]);
});
