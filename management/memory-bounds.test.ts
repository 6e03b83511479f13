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

/** Maximum bytes of heap per byte of weight after parsing; operator/memory-bounds.test.ts measures it. */
const KEPT = 2;
/** Maximum bytes per character of a text. */
const WIDE = 2;
/** Resident memory of the program before the first request: 96 MB on Node 24. */
const PROGRAM = 128_000_000;
/** Connections of callers, each with a short body. */
const CONNECTIONS = 256;
/** Factor for garbage that is not collected yet. */
const SLACK = 1.2;

describe('BOUNDS', () => {
  it('fit together into the memory limit that the chart gives the pod', () => {
    const { bodies, lists, registries, signatures } = BOUNDS;
    const { api } = OPERATOR_BOUNDS;
    // A text is read in pieces, then joined and parsed synchronously, so only one text at a time.
    const longest = Math.max(api.list, api.object, 2 * registries.one);
    const held = {
      bodies: KEPT * (bodies.ofAll + CONNECTIONS * bodies.short),
      lists: LISTS_AT_ONCE * (KEPT * Math.max(lists.resources, lists.records) + api.page),
      registries: KEPT * registries.ofAll,
      registriesInFlight: READ_AT_ONCE * Math.max(registries.file, registries.page + KEPT * registries.one),
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
    // The limit must be close enough to detect a bound that doubles.
    expect(sum / limit).toBeGreaterThan(0.85);
  });

  it('limits the heap to three quarters of the limit and enables garbage collection when idle', () => {
    const flags = '--max-semi-space-size=4, --max-old-space-size-percentage=75, --expose-gc';
    expect(read('templates/management/deployment.yaml')).toContain(`command: [node, ${flags}, `);
  });
});
