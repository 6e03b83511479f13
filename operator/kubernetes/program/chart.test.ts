import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parse } from 'yaml';
import { FLAG_GROUPS } from './flags.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CHART = join(ROOT, 'charts/vmcp');
const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');

const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});

/** Returns the metrics of the programs, without the suffixes that Prometheus adds for histograms. */
function knownMetrics(): Set<string> {
  const operator = [
    ...read('operator/kubernetes/program/metrics.ts').matchAll(/(?:gauge|counter|histogram)\('(\w+)'/g),
  ];
  const runtime = [...read('runtime/telemetry/metric-table.ts').matchAll(/\b(vmcp_\w+)/g)];
  return new Set([...operator.map(([, name]) => `vmcp_operator_${name}`), ...runtime.map(([, name]) => name ?? '')]);
}

describe('the chart', () => {
  it.each(readdirSync(join(CHART, 'dashboards')))('uses only existing metrics in %s', (file) => {
    const { panels } = Dashboard.parse(JSON.parse(readFileSync(join(CHART, 'dashboards', file), 'utf8')));
    const asked = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/\bvmcp_\w+/g) ?? []));
    const known = knownMetrics();
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.map((name) => name.replace(/_bucket$/, '')).filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(['admission-policy', 'documents-policy', 'records-policy'])(
    'includes the %s and all policies, as `vmcp --context` reads records without the management API, too',
    (part) => {
      const [condition] = /^\{\{- if .*/m.exec(read(`charts/vmcp/templates/${part}.yaml`)) ?? [];
      expect(condition).toBe('{{- if .Values.admissionPolicy.enabled }}');
    },
  );

  it('passes only existing flags to the operator', () => {
    const template = read('charts/vmcp/templates/operator/deployment.yaml');
    const given = [...template.matchAll(/^ +- (--[a-z-]+)/gm)].map(([, flag]) => flag);
    const known = Object.values(FLAG_GROUPS)
      .flat()
      .map(({ long }) => long);
    expect(given.length).toBeGreaterThan(8);
    expect(given.filter((flag) => !known.includes(flag))).toEqual([]);
  });

  it('has the version of the package in chart, program and image list', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read('charts/vmcp/Chart.yaml'))).toMatchObject({ version, appVersion: version });
    const images = read('charts/vmcp/images.txt')
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
    expect(images.map((image) => image.split(':')[1])).toEqual([version, version, version]);
  });

  it('has a schema for every value', () => {
    const values = parse(read('charts/vmcp/values.yaml')) as Record<string, unknown>;
    const schema = JSON.parse(read('charts/vmcp/values.schema.json')) as { properties: Record<string, unknown> };
    expect(Object.keys(schema.properties).sort()).toEqual(Object.keys(values).sort());
  });
});
