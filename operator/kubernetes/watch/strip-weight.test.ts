import { describe, expect, it } from '@jest/globals';
import { createTextSharing } from './share-texts.ts';
import { cutValues, placeAndOwner, stripWeight } from './strip-weight.ts';

it('placeAndOwner drops all long fields of a Secret that is watched as metadata', () => {
  const ownerReferences = [
    { apiVersion: 'vmcp.dev/v1alpha1', kind: 'VirtualMCPServer', name: 'demo', uid: 'u', controller: true },
  ];
  const place = { name: 'a', namespace: 'ns', uid: 's', resourceVersion: '7', ownerReferences };
  const long = { note: 'x'.repeat(250_000) };
  const watched = {
    apiVersion: 'meta.k8s.io/v1',
    kind: 'PartialObjectMetadata',
    metadata: { ...place, annotations: long, labels: { app: 'a' }, finalizers: ['one.example/two'] },
  };
  expect(placeAndOwner(watched, createTextSharing())).toEqual({
    apiVersion: 'meta.k8s.io/v1',
    kind: 'PartialObjectMetadata',
    metadata: place,
  });
});

const TOO_MUCH = 'more values than are read';
const objectOf = (spec: object) => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPServer',
  metadata: { name: 'a' },
  spec,
});
const empty = (count: number) => Array.from({ length: count }, () => ({}));

describe('cutValues', () => {
  it('removes excess values at their path, and keeps all others', () => {
    const spec = {
      groupRef: 'tools',
      junk: empty(400_000),
      toolsFilter: ['one'],
      nested: { lists: [empty(30_000), [1]] },
    };
    expect(cutValues(objectOf(spec)).spec).toEqual({
      groupRef: 'tools',
      junk: TOO_MUCH,
      toolsFilter: ['one'],
      nested: { lists: [TOO_MUCH, [1]] },
    });
  });

  it('counts the values of all lists and objects', () => {
    const lists = Array.from({ length: 300 }, () => empty(100));
    const { spec } = cutValues(objectOf({ lists }));
    const kept = (spec as { lists: unknown[] }).lists.map((list) => (Array.isArray(list) ? list.length : list));
    expect(kept).toEqual([...new Array<number>(196).fill(100), ...new Array<string>(104).fill(TOO_MUCH)]);
  });

  it('removes a whole spec that exceeds the limit by itself', () => {
    const many = Object.fromEntries(empty(20_001).map((value, at) => [`k${at}`, value]));
    expect(cutValues({ ...objectOf(many), status: many })).toMatchObject({
      spec: { [TOO_MUCH]: TOO_MUCH },
      status: { [TOO_MUCH]: TOO_MUCH },
    });
  });

  it('applies to a watched resource', () => {
    expect(stripWeight(objectOf({ junk: empty(20_000) })).spec).toEqual({ junk: TOO_MUCH });
    expect(stripWeight(objectOf({ junk: empty(19_999) })).spec).toEqual({ junk: empty(19_999) });
  });
});
