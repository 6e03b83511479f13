import { describe, expect, it } from '@jest/globals';
import { Aggregation } from '#crds/run-config/aggregation';
import { callFailure } from '#runtime/mcp/backends/failures';
import { nameThatFailed } from './failed-names.ts';

const failure = callFailure('files', 'timeout', true).error;
const failures = new Map([['files', failure]]);
const find = (kind: 'tools' | 'prompts' | 'resources', name: string, aggregation: object = {}) =>
  nameThatFailed(kind, name, failures, { aggregation: Aggregation.parse(aggregation), maxNameLength: 60 });

describe('nameThatFailed', () => {
  it('returns the backend’s failure and the name that policies use there', () => {
    for (const kind of ['tools', 'prompts'] as const) {
      expect(find(kind, 'files_read')).toMatchObject({
        name: 'files_read',
        backend: 'files',
        originalName: 'read',
        own: { name: 'read' },
      });
      expect(find(kind, 'files_read')?.failure).toBe(failure);
    }
  });

  it('matches any name if names have no prefix', () => {
    for (const aggregation of [{ conflict_resolution: 'priority' }, { prefix_mode: 'onConflict' }])
      expect(find('tools', 'anything', aggregation)).toMatchObject({ backend: 'files', originalName: 'anything' });
  });

  it('ignores names of other backends and URIs', () => {
    expect(find('tools', 'mail_send')).toBeUndefined();
    expect(find('resources', 'files_read')).toBeUndefined();
  });
});
