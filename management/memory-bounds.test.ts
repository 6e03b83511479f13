import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { readQuantity } from '#crds/parts/quantity';
import { BOUNDS as OPERATOR_BOUNDS, MIB } from '#operator/memory-bounds';
import { BOUNDS } from './memory-bounds.ts';
import { MOST_CHECKS } from './provenance/limit-checks.ts';
import { LOADED_AT_ONCE, READ_AT_ONCE } from './registries/registry-quota.ts';
import { STAGED_AT_ONCE } from './skills/staging-semaphore.ts';
import { LISTS_AT_ONCE } from './stores/list-semaphore.ts';
import { LONGEST_LINE } from './workloads/merge-lines.ts';
import { MOST_POD_LOGS } from './workloads/pod-logs.ts';

const CHART = join(import.meta.dirname, '../charts/vmcp');
const read = (path: string) => readFileSync(join(CHART, path), 'utf8');

/** Heap that a byte of weight takes once it is parsed, at the most: operator/memory-bounds.test.ts measures it. */
const KEPT = 2;
/** Bytes of a character of a text, at the most. */
const WIDE = 2;
/** Resident memory of the program before the first request: 96 MB on Node 24. */
const PROGRAM = 128_000_000;
/** Connections of callers, each with a short body. */
const CONNECTIONS = 256;
/** Heap that was let go and is not collected yet. */
const SLACK = 1.2;

describe('bounds of the memory of the management API', () => {
  it('fit the limit that the chart gives its pod, all at once', () => {
    const { bodies, lists, registries, signatures } = BOUNDS;
    const { api } = OPERATOR_BOUNDS;
    // Texts are read in pieces, joined and parsed in one turn: one at a time of all.
    const longest = Math.max(api.list, api.object, 2 * registries.one);
    const held = {
      bodies: KEPT * (bodies.ofAll + CONNECTIONS * bodies.short),
      lists: LISTS_AT_ONCE * (KEPT * Math.max(lists.resources, lists.records) + api.page),
      registries: KEPT * registries.ofAll,
      registriesUnderWay: READ_AT_ONCE * Math.max(registries.file, registries.page + KEPT * registries.one),
      registriesLoaded: LOADED_AT_ONCE * 2 * registries.one,
      signatures: MOST_CHECKS * (KEPT * signatures.manifest + signatures.one),
      logs: MOST_POD_LOGS * WIDE * LONGEST_LINE,
      archives: STAGED_AT_ONCE * bodies.one,
      parsed: longest * (WIDE + KEPT),
    };
    const sum = PROGRAM + SLACK * Object.values(held).reduce((all, one) => all + one, 0);
    const Values = z.object({
      management: z.object({ resources: z.object({ limits: z.object({ memory: z.string() }) }) }),
    });
    const limit = readQuantity(Values.parse(parse(read('values.yaml'))).management.resources.limits.memory) ?? 0;
    expect(Math.round(sum / MIB)).toBeLessThan(limit / MIB);
    // No bound can be doubled unseen.
    expect(sum / limit).toBeGreaterThan(0.85);
  });

  it('lets the heap take three quarters of the limit, and an idle program collect garbage', () => {
    const flags = '--max-semi-space-size=4, --max-old-space-size-percentage=75, --expose-gc';
    expect(read('templates/management/deployment.yaml')).toContain(`command: [node, ${flags}, `);
  });
});
