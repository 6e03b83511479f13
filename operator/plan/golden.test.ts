import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { RunConfig } from '#crds/run-config/run-config';
import { goldenOutput } from '#operator/golden-case';
import type { Outcome } from '#operator/plan/outcome';

const folder = join(import.meta.dirname, 'testdata');
const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.replace('.in.yaml', ''));

describe('plan', () => {
  it('has at least forty golden pairs', () => {
    expect(cases.length).toBeGreaterThanOrEqual(40);
  });

  it.each(cases)('%s', (name) => {
    const output = goldenOutput(readFileSync(join(folder, `${name}.in.yaml`), 'utf8'));
    expect(output).toBe(readFileSync(join(folder, `${name}.out.yaml`), 'utf8'));
  });

  it.each(cases)('%s: a rendered document is one that the runtime reads, and names only listed files', (name) => {
    const { rendered } = parse(readFileSync(join(folder, `${name}.out.yaml`), 'utf8')) as Outcome;
    if (!rendered) return;
    RunConfig.parse(rendered.document);
    const text = JSON.stringify(rendered.document);
    for (const file of Object.keys(rendered.secretFiles))
      expect(text).toContain(`${rendered.secretDirectory}/${file}"`);
    for (const file of Object.keys(rendered.plainFiles)) expect(text).toContain(`${rendered.configDirectory}/${file}"`);
  });
});
