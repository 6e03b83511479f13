import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { Outcome } from '#operator/plan/outcome';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/operate/conditions.md'), 'utf8');
const folder = join(import.meta.dirname, 'testdata');

const conditions = readdirSync(folder)
  .filter((file) => file.endsWith('.out.yaml'))
  .flatMap((file) => (parse(readFileSync(join(folder, file), 'utf8')) as Outcome).status?.conditions ?? []);

/** Conditions for which True is the healthy status. */
const WELL = new Set(['Ready', 'AllBackendsReady', 'BackendsResolved']);

/** Reasons in the sources of the plan and of its platforms. */
const thrown = ['operator/plan', 'operator/kubernetes', 'local']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .flatMap((file) => [
    ...readFileSync(join(root, file), 'utf8').matchAll(/new (?:Stalled|Waiting)\(\s*(?:\w+ \? '(\w+)' : )?'(\w+)'/g),
  ])
  .flatMap(([, first, second]) => [first ?? [], second ?? []].flat());

describe('docs/operate/conditions.md', () => {
  it('lists every condition and every reason of the golden pairs', () => {
    const said = new Set(conditions.flatMap(({ type, reason }) => [type, reason]));
    expect([...said].filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
  });

  it('lists every reason for which planning or applying fails', () => {
    expect(thrown.length).toBeGreaterThan(20);
    expect([...new Set(thrown)].filter((reason) => !page.includes(`\`${reason}\``))).toEqual([]);
  });

  it('states correctly that unhealthy conditions name a remedy', () => {
    const bad = conditions.filter(({ type, status }) => WELL.has(type) === (status === 'False'));
    const silent = bad.filter(({ message }) => !/: |wait|write|see /i.test(message));
    expect(silent.map(({ type, message }) => [type, message])).toEqual([]);
  });
});
