import { describe, expect, it } from '@jest/globals';
import { Aggregation } from '#crds/run-config/aggregation';
import { callFailure } from '#runtime/mcp/backends/failures';
import { nameThatFailed } from './failed-names.ts';

const failure = callFailure('files', 'timeout', true).error;
const failures = new Map([['files', failure]]);
const find = (kind: 'tools' | 'prompts' | 'resources', name: string, aggregation: object = {}) =>
  nameThatFailed(kind, name, failures, { aggregation: Aggregation.parse(aggregation), maxNameLength: 60 });

describe('a name of a backend whose list could not be had', () => {
  it('leads to the failure of that backend, by what policies may call it there', () => {
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

  it('can be any name where names have no prefix of their own', () => {
    for (const aggregation of [{ conflict_resolution: 'priority' }, { prefix_mode: 'onConflict' }])
      expect(find('tools', 'anything', aggregation)).toMatchObject({ backend: 'files', originalName: 'anything' });
  });

  it('is not one of another backend, and no URI', () => {
    expect(find('tools', 'mail_send')).toBeUndefined();
    expect(find('resources', 'files_read')).toBeUndefined();
  });
});
