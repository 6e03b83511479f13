/** @jest-environment node */
import { expect, it, jest } from '@jest/globals';
import * as cedar from '@cedar-policy/cedar-wasm/nodejs';

const statefulIsAuthorized = jest.fn(cedar.statefulIsAuthorized);
jest.unstable_mockModule('@cedar-policy/cedar-wasm/nodejs', () => ({ ...cedar, statefulIsAuthorized }));
const { createAuthorizer } = await import('./authorize.ts');

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

it('evaluates the policies during the warm-up, with a group and a claim that they name', () => {
  const policies = ['permit(principal in Group::"ops", action, resource) when { principal.claim_level == "high" };'];
  const authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies, entities_json: '[]' } as const;
  const authorizer = createAuthorizer(authz, { log: silent });
  statefulIsAuthorized.mockClear();
  authorizer.warmUp('get_prompt', { name: 'greet', backend: 'b', originalName: 'greet' });
  expect(statefulIsAuthorized).toHaveBeenCalledTimes(1);
  const [[asked] = []] = statefulIsAuthorized.mock.calls;
  expect(asked?.action).toEqual({ type: 'Action', id: 'get_prompt' });
  expect(JSON.stringify(asked?.entities)).toMatch(/"Group","id":"ops".*|"id":"ops","type":"Group"/);
  expect(JSON.stringify(asked?.entities)).toContain('claim_level');
  expect(statefulIsAuthorized.mock.results[0]?.value).toMatchObject({ type: 'success' });
});
