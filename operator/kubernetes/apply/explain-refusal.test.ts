import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../api/api-error.ts';
import { explainRefusal } from './explain-refusal.ts';

const forbidden = (message: string, causes: { reason: string }[] = []) =>
  new ApiError(message, { status: 403, reason: 'Forbidden', causes });

describe('explainRefusal', () => {
  it.each([
    forbidden('services "a" is forbidden', [{ reason: 'NamespaceTerminating' }]),
    forbidden('unable to create new content in namespace ns because it is being terminated'),
    forbidden('MCPGroup "tools" is being deleted'),
  ])('reports a deletion instead of a missing role: %s', (problem) => {
    const explained = explainRefusal(problem, 'Service "a"');
    expect(explained).toMatchObject({ reason: 'NamespaceTerminating' });
    expect(String(explained)).not.toContain('role');
  });

  it('names the object that an administrator may have to repair when nothing is being deleted', () => {
    const problem = forbidden('exceeded quota: few');
    expect(explainRefusal(problem, 'Service "a"')).toMatchObject({
      reason: 'ChildForbidden',
      message: expect.stringContaining("mend the quota, the policy or the operator's role"),
    });
  });
});
