import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { readQuantity } from '#crds/parts/quantity';
import { TARGET_MEMORY } from '../e2e/bench-operator/report.ts';
import { CONNECTIONS, REVIEWS } from './kubernetes/webhook/serve-webhook.ts';
import { BOUNDS, MIB } from './memory-bounds.ts';
import { LONGEST_DOCUMENT } from './plan/document-size.ts';

const CHART = join(import.meta.dirname, '../charts/vmcp');
const DOCKERFILE = join(CHART, '../../operator/Dockerfile');
const read = (path: string) => readFileSync(join(CHART, path), 'utf8');

/** Heap bytes per byte of weight after parsing, at most: texts beyond Latin-1. */
const KEPT = 2;
/** Bytes per character of a text, at most. */
const WIDE = 2;
/** Heap bytes per byte of the memory that caches count, at most: V8 does not fill its pages. */
const CACHED = 1.1;
/** The largest object in etcd, and the heap bytes per byte of its text: a list of empty objects. */
const [LARGEST, OF_VALUES] = [1.5 * MIB, 20];
/** Peak with 1,000 servers and 5,000 backends: the target of docs/internals/benchmarks-operator.md. */
const OPERATOR = TARGET_MEMORY;
/** Concurrent requests: lists and watches of each kind, and reads and writes of the workers and of the webhook. */
const REQUESTS = 100;
/** Factor of the heap for garbage that is not collected yet. */
const SLACK = 1.2;

function costsOf(script: string): [string, number][] {
  // Measures in a separate process, without the garbage of other tests.
  const measuring = join(import.meta.dirname, 'testdata', script);
  const output = execFileSync(process.execPath, ['--expose-gc', measuring], { encoding: 'utf8', timeout: 120_000 });
  return Object.entries(z.record(z.string(), z.number()).parse(JSON.parse(output)));
}

it('the weight of a JSON text covers its memory, for each shape', () => {
  const costs = costsOf('measure-json.ts').map(([, cost]) => cost);
  expect(Math.max(...costs)).toBeLessThan(KEPT * 1.05);
  expect(Math.max(...costs)).toBeGreaterThan(KEPT * 0.9);
});

it('caches of Secrets, ConfigMaps and statuses count their memory, for each shape', () => {
  const costs = costsOf('measure-caches.ts');
  expect(costs.filter(([, cost]) => cost > CACHED * 1.02)).toEqual([]);
  expect(Math.max(...costs.map(([, cost]) => cost))).toBeGreaterThan(CACHED * 0.9);
});

/** Memory of one text while it is joined, decoded and parsed. All of this is one event-loop turn, so there is one such text at a time. */
function parsing(): number {
  const { api, webhook } = BOUNDS;
  const page = Math.max(api.page, api.list);
  const steps = {
    page: page * (1 + WIDE + KEPT),
    objectOfEscapes: Math.max(api.object, api.line) * (1 + WIDE) + LARGEST * WIDE,
    objectOfValues: LARGEST * (1 + WIDE + OF_VALUES),
    // Unpacked in parts, joined and decoded.
    document: LONGEST_DOCUMENT * (2 + WIDE),
    review: webhook.body * (1 + WIDE),
  };
  return Math.max(...Object.values(steps));
}

it('the limits of untrusted data fit the memory limit of the chart together', () => {
  const { api, named, podStatuses, webhook } = BOUNDS;
  const held = {
    namedSecretsAndConfigMaps: 2 * CACHED * named.ofAll,
    podStatuses: CACHED * podStatuses.ofAll,
    webhookTexts: webhook.bodies,
    webhookReviews: KEPT * (webhook.parsed + CONNECTIONS * webhook.short) + REVIEWS * webhook.ofReview,
    answers: api.longTexts * Math.max(api.object, api.line, api.page) + REQUESTS * (api.shortText + api.window),
    parsing: parsing(),
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
