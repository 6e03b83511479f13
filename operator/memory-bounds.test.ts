import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { readQuantity } from '#crds/parts/quantity';
import { KINDS } from '#operator/world';
import { watchedChildren } from './kubernetes/api/resources.ts';
import { REVIEWS } from './kubernetes/webhook/serve-webhook.ts';
import { BOUNDS, MIB } from './memory-bounds.ts';

const CHART = join(import.meta.dirname, '../charts/vmcp');
const DOCKERFILE = join(CHART, '../../operator/Dockerfile');
const read = (path: string) => readFileSync(join(CHART, path), 'utf8');

/** What a byte of weight takes of the heap once it is parsed, at the most: texts beyond Latin-1. */
const KEPT = 2;
/** A character of a text, at the most. */
const WIDE = 2;
/** With 1,000 servers and 5,000 backends: the target of docs/internals/benchmarks-operator.md. */
const OPERATOR = 350_000_000;
/** Connections of the webhook, each with a short body. */
const CONNECTIONS = 256;
/** Of the heap, what has been let go and is not collected yet. */
const SLACK = 1.2;

it('a byte of what is weighed costs no more than is reckoned with, whatever the shape of the JSON', () => {
  // In a process of its own: what other tests leave to be collected would be counted.
  const measuring = join(import.meta.dirname, 'testdata/measure-json.ts');
  const output = execFileSync(process.execPath, ['--expose-gc', measuring], { encoding: 'utf8', timeout: 60_000 });
  const costs = Object.values(z.record(z.string(), z.number()).parse(JSON.parse(output)));
  expect(Math.max(...costs)).toBeLessThan(KEPT * 1.05);
  expect(Math.max(...costs)).toBeGreaterThan(KEPT * 0.9);
});

it('what others can make the operator hold at once fits the memory that the chart gives it', () => {
  const { api, named, heard, webhook } = BOUNDS;
  // What comes is read in pieces, and joined, turned into a text and parsed in one turn: one at a time of all.
  const longest = Math.max(api.list, api.object);
  const held = {
    namedSecretsAndConfigMaps: 2 * KEPT * named.ofAll,
    heard: KEPT * heard.ofAll,
    webhook: KEPT * (webhook.bodies + REVIEWS * webhook.ofReview + CONNECTIONS * webhook.shortBody),
    watches: (KINDS.length + watchedChildren(true).length + 3) * api.page,
    parsed: longest * (WIDE + KEPT),
  };
  const sum = OPERATOR + SLACK * Object.values(held).reduce((all, one) => all + one, 0);
  const { resources } = z
    .object({ resources: z.object({ limits: z.object({ memory: z.string() }) }) })
    .parse(parse(read('values.yaml')));
  const limit = readQuantity(resources.limits.memory) ?? 0;
  expect(Math.round(sum / MIB)).toBeLessThan(limit / MIB);
  // Nor is so much of the limit left that a bound could be doubled unseen.
  expect(sum / limit).toBeGreaterThan(0.85);
});

it('the heap may take three quarters of the limit: by itself Node takes half of it', () => {
  const flag = '--max-old-space-size-percentage=75';
  expect(read('templates/operator/deployment.yaml')).toContain(`command: [node, --max-semi-space-size=4, ${flag}, `);
  expect(readFileSync(DOCKERFILE, 'utf8')).toContain(`"${flag}"`);
});

it('lets an idle operator collect garbage, in its image and in the chart', () => {
  for (const text of [read('templates/operator/deployment.yaml'), readFileSync(DOCKERFILE, 'utf8')])
    expect(text).toContain('--expose-gc');
});
