import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { RunConfig } from '#crds/run-config/run-config';
import { goldenOutput } from '#operator/golden-case';
import type { Outcome, Rendered } from '#operator/plan/outcome';

const folder = join(import.meta.dirname, 'testdata');
const cases = readdirSync(folder)
  .filter((name) => name.endsWith('.in.yaml'))
  .map((name) => name.replace('.in.yaml', ''));

const documents = cases.flatMap((name): [string, Rendered][] => {
  const { rendered } = parse(readFileSync(join(folder, `${name}.out.yaml`), 'utf8')) as Outcome;
  return rendered ? [[name, rendered]] : [];
});

describe('plan', () => {
  it('has at least forty golden pairs', () => {
    expect(cases.length).toBeGreaterThanOrEqual(40);
  });

  it.each(cases)('%s', (name) => {
    const output = goldenOutput(readFileSync(join(folder, `${name}.in.yaml`), 'utf8'));
    expect(output).toBe(readFileSync(join(folder, `${name}.out.yaml`), 'utf8'));
  });

  it.each(documents)(
    '%s: the document is one that the runtime reads, and names the listed files alone',
    (_name, rendered) => {
      RunConfig.parse(rendered.document);
      const { document, secretDirectory, configDirectory, secretFiles, plainFiles } = rendered;
      const listed = [
        ...Object.keys(secretFiles).map((file) => `${secretDirectory}/${file}`),
        ...Object.keys(plainFiles).map((file) => `${configDirectory}/${file}`),
      ];
      // A database is made by the runtime.
      const named = JSON.stringify(document).match(/"\/(srv\/demo\/\.vmcp|etc\/vmcp)\/[^"]*(?<!\.sqlite)"/g) ?? [];
      expect([...new Set(named.map((path) => path.slice(1, -1)))].sort()).toEqual(listed.sort());
    },
  );
});
