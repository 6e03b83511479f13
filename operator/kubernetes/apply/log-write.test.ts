import { describe, expect, it } from '@jest/globals';
import type { Log } from '#lib/log/log';
import { changedFields, logGone, logRemoval, removedFields } from './log-write.ts';

describe('logRemoval', () => {
  it('names a removed object with its resource, and a deleted resource', () => {
    const lines: unknown[] = [];
    const note = (message: string, fields?: object) => lines.push({ message, ...fields });
    const log: Log = { debug: note, info: note, warn: note, error: note };
    const owner = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', name: 'plain', uid: 'u', controller: true };
    const metadata = { name: 'left', namespace: 'ns', ownerReferences: [owner] };
    logRemoval(log, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
    logGone(log, { kind: 'MCPServer', namespace: 'ns', name: 'plain' });
    expect(lines).toEqual([
      {
        message: 'object deleted',
        object: 'ConfigMap ns/left',
        resource: 'MCPServer ns/plain',
        reason: 'its resource does not need it any more',
      },
      {
        message: 'resource deleted',
        resource: 'MCPServer ns/plain',
        reason: 'the cluster removes the objects of a deleted resource',
      },
    ]);
  });
});

describe('changedFields', () => {
  it.each<[object, object, string[]]>([
    [{ a: 1 }, { a: 1, b: 2 }, []],
    [{ a: { b: 1, c: 2 } }, { a: { b: 2, c: 2 } }, ['a.b']],
    [{ data: { 'run-config.yaml': 'x' } }, { data: {} }, ['data[run-config.yaml]']],
    [{ list: [{ name: 'x', v: 1 }] }, { list: [{ name: 'x', v: 2 }] }, ['list[x].v']],
    [{ list: [1, 2] }, { list: [1] }, ['list']],
    [{ list: [1] }, { list: { 0: 1 } }, ['list']],
    [{ limits: { cpu: '1000m' } }, { limits: { cpu: '1' } }, []],
  ])('lists the fields of %j that %j lacks: %j', (desired, live, fields) => {
    expect(changedFields(desired, live)).toEqual(fields);
  });

  it('lists at most eight, without values', () => {
    const desired = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, `secret-${i}`]));
    const fields = changedFields(desired, {});
    expect(fields).toHaveLength(9);
    expect(fields.at(-1)).toBe('and 2 more');
    expect(fields.join()).not.toContain('secret');
  });
});

describe('removedFields', () => {
  const object = (spec: object, more = {}) => ({ metadata: { name: 'a', resourceVersion: '1', ...more }, spec });

  it('names what a write has removed, and nothing that the API server writes', () => {
    const former = object(
      { replicas: 1, containers: [{ name: 'mcp', image: 'a', tty: true }], args: ['a', 'b'] },
      { labels: { team: 'a', 'vmcp.dev/old': 'b' }, managedFields: [{ time: 'then', manager: 'm' }] },
    );
    const written = object({ containers: [{ name: 'mcp', image: 'b' }], args: ['a'] }, { labels: { team: 'b' } });
    expect(removedFields({ ...former, status: { replicas: 1 } }, written)).toEqual([
      'metadata.labels[vmcp.dev/old]',
      'spec.replicas',
      'spec.containers[mcp].tty',
      'spec.args',
    ]);
  });
});
