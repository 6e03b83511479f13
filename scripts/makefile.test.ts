import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
const make = (...args: string[]) => execFileSync('make', args, { cwd: ROOT, encoding: 'utf8' });

const TARGETS = [
  'help',
  'up',
  'down',
  'test',
  'verify',
  'lint',
  'test-unit',
  'test-e2e',
  'test-cluster',
  'test-api',
  'test-clients',
  'conformance',
  'property',
  'soak',
  'bench',
  'bench-operator',
  'images',
  'clean',
];

describe('make', () => {
  it('lists its targets by default, each with a description', () => {
    const listed = [...make().matchAll(/^ {2}make (\S+) +\S+/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual([...TARGETS].sort());
    expect(make('help')).toBe(make());
  });

  it.each(TARGETS.filter((target) => !['help', 'images', 'clean'].includes(target)))(
    'runs only existing scripts in %s',
    (target) => {
      const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
      const run = [...make('--dry-run', target).matchAll(/^npm run --silent (\S+)/gm)].map(([, script]) => script);
      expect(run.length).toBeGreaterThan(0);
      for (const script of run) expect(scripts).toHaveProperty([script ?? '']);
    },
  );
});
