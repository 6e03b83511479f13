import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../api/object.ts';
import { OwnedChildren } from './owned-children.ts';

const child = (resourceVersion: string, uid = 'one', owner = 'demo'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    ...{ name: 'a', namespace: 'ns', uid, resourceVersion },
    ownerReferences: [
      { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', name: owner, uid: owner, controller: true },
    ],
  },
});

let children: OwnedChildren;
let changes: string[];
beforeEach(() => {
  changes = [];
  children = new OwnedChildren((old, current, ours) => {
    const version = ({ metadata }: KubeObject) => `${metadata.uid} ${metadata.resourceVersion}`;
    changes.push(`${old ? version(old) : ''} > ${current ? version(current) : ''}${ours ? ' ours' : ''}`);
  });
});
const standing = () => children.at(child(''))?.metadata;

describe('OwnedChildren', () => {
  it('ignores a watch event that is older than its own write', () => {
    children.told(undefined, child('9'));
    children.wrote(child('11'));
    children.told(child('9'), child('10'));
    children.told(child('10'), child('11'));
    expect(standing()?.resourceVersion).toBe('11');
    expect(changes).toEqual([' > one 9', 'one 9 > one 11 ours']);
    children.told(child('11'), child('12'));
    expect(standing()?.resourceVersion).toBe('12');
  });

  it('keeps a new object when the watch reports the deletion of its predecessor', () => {
    children.told(undefined, child('9'));
    children.wrote(child('12', 'two'));
    children.told(child('9'), undefined);
    expect(standing()?.uid).toBe('two');
    children.told(child('12', 'two'), undefined);
    expect(standing()).toBeUndefined();
    expect(changes.at(-1)).toBe('two 12 > ');
  });

  it('accepts a recreated object with any version, as a backup may have been restored', () => {
    children.wrote(child('12'));
    children.told(undefined, child('9', 'two'));
    expect(standing()?.uid).toBe('two');
  });

  it('finds children by their current owner', () => {
    children.told(undefined, child('9'));
    expect(children.ofOwner('demo')).toHaveLength(1);
    children.told(child('9'), child('10', 'one', 'other'));
    expect([children.ofOwner('demo').length, children.ofOwner('other').length]).toEqual([0, 1]);
    children.told(child('10'), undefined);
    expect(children.ofOwner('other')).toEqual([]);
  });
});
