import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { readQuantity } from '#crds/parts/quantity';
import { KINDS } from '#operator/snapshot';
import { watchedChildren } from './kubernetes/api/resources.ts';
import { REVIEWS } from './kubernetes/webhook/serve-webhook.ts';
import { BOUNDS, MIB } from './memory-bounds.ts';

const CHART = join(import.meta.dirname, '../charts/vmcp');
const DOCKERFILE = join(CHART, '../../operator/Dockerfile');
const read = (path: string) => readFileSync(join(CHART, path), 'utf8');

/** Heap bytes per byte of weight after parsing, at most: texts beyond Latin-1. */
const KEPT = 2;
/** Bytes per character of a text, at most. */
const WIDE = 2;
/** With 1,000 servers and 5,000 backends: the target of docs/internals/benchmarks-operator.md. */
const OPERATOR = 350_000_000;
/** Connections of the webhook, each with a short body. */
const CONNECTIONS = 256;
/** Factor of the heap for garbage that is not collected yet. */
const SLACK = 1.2;

it('the weight of a JSON text covers its memory, for each shape', () => {
  // Measures in a separate process, without the garbage of other tests.
  const measuring = join(import.meta.dirname, 'testdata/measure-json.ts');
  const output = execFileSync(process.execPath, ['--expose-gc', measuring], { encoding: 'utf8', timeout: 60_000 });
  const costs = Object.values(z.record(z.string(), z.number()).parse(JSON.parse(output)));
  expect(Math.max(...costs)).toBeLessThan(KEPT * 1.05);
  expect(Math.max(...costs)).toBeGreaterThan(KEPT * 0.9);
});

it('the limits of untrusted data fit the memory limit of the chart together', () => {
  const { api, named, lastProbe, webhook } = BOUNDS;
  // A body is read in chunks, joined, decoded and parsed in one event-loop turn, so one body at a time.
  const longest = Math.max(api.list, api.object);
  const held = {
    namedSecretsAndConfigMaps: 2 * KEPT * named.ofAll,
    lastProbe: KEPT * lastProbe.ofAll,
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
  // The remaining memory is too small to hide a doubled limit.
  expect(sum / limit).toBeGreaterThan(0.85);
});

it('the heap may take three quarters of the memory limit: by default, Node takes half of it', () => {
  const flag = '--max-old-space-size-percentage=75';
  expect(read('templates/operator/deployment.yaml')).toContain(`command: [node, --max-semi-space-size=4, ${flag}, `);
  expect(readFileSync(DOCKERFILE, 'utf8')).toContain(`"${flag}"`);
});

it('the image and the chart let an idle operator collect garbage', () => {
  for (const text of [read('templates/operator/deployment.yaml'), readFileSync(DOCKERFILE, 'utf8')])
    expect(text).toContain('--expose-gc');
});
