import { expect, it } from '@jest/globals';
import { createTextSharing } from './share-texts.ts';
import { placeAndOwner } from './strip-weight.ts';

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
