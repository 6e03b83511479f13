import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { appliedAnnotation, canonicalText, hashOf, keepsPods, standsIn, withHash } from './compare-objects.ts';

describe('standsIn', () => {
  it('ignores fields that the API server and others added', () => {
    const desired = { spec: { replicas: 1, template: { containers: [{ name: 'vmcp', image: 'a' }] } } };
    const live = {
      spec: {
        replicas: 1,
        revisionHistoryLimit: 10,
        template: { containers: [{ name: 'vmcp', image: 'a', terminationMessagePath: '/dev/termination-log' }] },
      },
    };
    expect(standsIn(desired, live)).toBe(true);
  });

  it('detects a changed value, a missing one and another number of items', () => {
    expect(standsIn({ replicas: 1 }, { replicas: 2 })).toBe(false);
    expect(standsIn({ image: 'a' }, {})).toBe(false);
    expect(standsIn({ ports: [1] }, { ports: [1, 2] })).toBe(false);
    expect(standsIn({ ports: [1] }, {})).toBe(false);
    expect(standsIn({ enabled: true }, {})).toBe(false);
  });

  it('accepts quantities that mean the same', () => {
    expect(standsIn({ cpu: '1000m', memory: '1024Mi' }, { cpu: '1', memory: '1Gi' })).toBe(true);
    expect(standsIn({ cpu: '0.5' }, { cpu: '500m' })).toBe(true);
    expect(standsIn({ cpu: '1' }, { cpu: '2' })).toBe(false);
    expect(standsIn({ name: '1x' }, { name: '1y' })).toBe(false);
  });

  it('accepts an empty value that the API server left out', () => {
    expect(standsIn({ emptyDir: {}, env: [] }, {})).toBe(true);
  });

  it('holds for every object with additions, and not with a member less', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (object, extra) => {
        expect(standsIn(object, object)).toBe(true);
        if (!(extra in object)) expect(standsIn(object, { ...object, [extra]: 'added' })).toBe(true);
        if (!(extra in object)) expect(standsIn({ ...object, [extra]: 'wanted' }, object)).toBe(false);
      }),
    );
  });
});

describe('hash of an object', () => {
  it('depends on the order of lists, not on that of members', () => {
    expect(hashOf({ a: 1, b: { c: 2, d: undefined } })).toBe(hashOf({ b: { c: 2 }, a: 1 }));
    expect(hashOf({ a: [1, 2] })).not.toBe(hashOf({ a: [2, 1] }));
    expect(canonicalText({ b: 1, a: [{ d: 1, c: 2 }] })).toBe('{"a":[{"c":2,"d":1}],"b":1}');
  });

  it('becomes an annotation beside the existing ones', () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', annotations: { own: 'x' } } };
    const { metadata } = withHash(object, 'vmcp.dev');
    expect(metadata.annotations).toEqual({ own: 'x', [appliedAnnotation('vmcp.dev')]: hashOf(object) });
  });

  it('detects whether pods would be replaced: by any change of their template only', () => {
    const deployment = (replicas: number, template: object) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: { replicas, template },
    });
    const live = withHash(deployment(1, { image: 'a', pull: 'b' }), 'vmcp.dev');
    expect(keepsPods(deployment(2, { image: 'a', pull: 'b' }), live, 'vmcp.dev')).toBe(true);
    expect(keepsPods(deployment(1, { image: 'c', pull: 'b' }), live, 'vmcp.dev')).toBe(false);
    expect(keepsPods(deployment(1, { image: 'a' }), live, 'vmcp.dev')).toBe(false);
  });
});
