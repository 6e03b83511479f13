import { describe, expect, it } from '@jest/globals';
import type { Log } from '#lib/log/log';
import { logGone, logRemoval } from './log-write.ts';

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
