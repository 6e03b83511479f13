import { describe, expect, it } from '@jest/globals';
import { opensUrls, renderElicitation, renderLoginText, type LoginRequest } from './render-login.ts';

const asked = (changes: Partial<LoginRequest> = {}): LoginRequest => ({
  era: 'legacy',
  revision: '2025-11-25',
  capabilities: '{"elicitation":{"form":{},"url":{}}}',
  method: 'tools/call',
  idText: '7',
  params: undefined,
  ...changes,
});
const modern = { era: 'modern', revision: '2026-07-28' } as const;

describe('opensUrls', () => {
  it.each([
    ['where it says so', {}, true],
    ['for requests of all kinds, with sessions', { method: 'prompts/get' }, true],
    ['not where it knows forms only', { capabilities: '{"elicitation":{}}' }, false],
    ['not where it says nothing', { capabilities: '{}' }, false],
    ['not where what it says is nothing', { capabilities: '{"elicitation":{"url":true}}' }, false],
    ['not in a revision from before', { revision: '2025-06-18' }, false],
    ['in revision 2026-07-28 for calls', modern, true],
    ['in revision 2026-07-28 for resources', { ...modern, method: 'resources/read' }, true],
    ['in revision 2026-07-28 for nothing that may not ask', { ...modern, method: 'completion/complete' }, false],
  ])('checks the client’s capability: %s', (_case, changes, expected) => {
    expect(opensUrls(asked(changes))).toBe(expected);
  });
});

describe('renderElicitation', () => {
  const place = { provider: 'github', url: 'https://x/connections/link?ticket=t', elicitationId: 'e' };

  it('keeps the id as the client wrote it', () => {
    expect(renderElicitation(asked({ idText: '"a\\"b"' }), place)).toMatch(/^\{"jsonrpc":"2\.0","id":"a\\"b","error":/);
    expect(renderLoginText(asked(), 'text', {})).toMatch(/^\{"jsonrpc":"2\.0","id":7,"result":/);
  });

  it('returns a state only if the client sent one', () => {
    const result = (params: LoginRequest['params']) =>
      (JSON.parse(renderElicitation(asked({ ...modern, params }), place)) as { result: object }).result;
    expect(result({ requestState: 's' })).toHaveProperty('requestState', 's');
    expect(result({ requestState: 1 })).not.toHaveProperty('requestState');
    expect(result(undefined)).not.toHaveProperty('requestState');
  });
});
