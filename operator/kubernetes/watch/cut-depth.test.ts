import { describe, expect, it } from '@jest/globals';
import { findNames } from './find-names.ts';
import { cutDepth } from './cut-depth.ts';
import { readAdmissionReview } from '../webhook/admission-review.ts';
import { stripWeight } from './strip-weight.ts';

const nested = (levels: number) => '{"a":'.repeat(levels) + '[{"name":"s","key":"k"}]' + '}'.repeat(levels);

describe('cutDepth', () => {
  it('removes values nested deeper than any field, and keeps all others', () => {
    const value = JSON.parse(`{"spec":{"x":${nested(9000)},"__proto__":${nested(9000)},"y":${nested(20)}}}`) as object;
    const { spec } = cutDepth(value) as { spec: Record<string, unknown> };
    expect(JSON.stringify(spec.x)).toMatch(/^(\{"a":){99}"nested too deep to be read"/);
    expect(JSON.stringify(Object.entries(spec)[1])).toContain('too deep');
    expect(JSON.stringify(spec.y)).toBe(nested(20));
  });

  it('protects recursive readers of a resource, in watches and reviews', () => {
    const text = `{"apiVersion":"v1","kind":"MCPServer","metadata":{"name":"a","uid":"u"},"spec":{"x":${nested(9000)},"y":${nested(9)}}}`;
    const watched = stripWeight(JSON.parse(text) as Parameters<typeof stripWeight>[0]);
    expect([...findNames(watched.spec).secrets.keys()]).toEqual(['s']);
    const request = `{"uid":"1","namespace":"a","operation":"CREATE","object":${text}}`;
    const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":${request}}`;
    const { proposal } = readAdmissionReview(review);
    expect([...findNames(proposal?.manifest.spec).secrets.keys()]).toEqual(['s']);
  });
});
