import { describe, expect, it } from '@jest/globals';
import type { Authz } from '#crds/run-config/incoming';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { CatalogueEntry } from '#runtime/mcp/aggregate/catalogue-entry';
import { createAuthorizer } from '#runtime/policy/authorize';
import type { Log } from '#runtime/telemetry/log';
import { authorizeCall, isVisible } from './resolve-target.ts';

const log: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe('authorizeCall', () => {
  it('records the decisions of both policy sets, each with its own name', () => {
    const lookedUp: [set: string, remembered: boolean][] = [];
    const load = (name: string, tool: string) => {
      const policies = [`permit(principal, action, resource == Tool::"${tool}");`];
      const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies, entities_json: '[]' };
      return createAuthorizer(authz, { log, name, metrics: { lookedUp: (known) => lookedUp.push([name, known]) } });
    };
    const [authorizer, own] = [load('server', 'pol_echo'), load('backend/pol', 'echo')];
    const entry: CatalogueEntry = {
      name: 'pol_echo',
      backend: 'pol',
      originalName: 'echo',
      text: '',
      annotations: undefined,
      own: { name: 'echo', backend: 'pol', originalName: 'echo' },
    };
    const services = {
      catalogues: { apps: { ownerOf: () => undefined } },
      authorizer,
      config: {},
      rateLimits: undefined,
      backends: { all: [], get: () => ({ authorizer: own }) },
    };
    const requestRecord = { target: undefined, backend: undefined, trace: undefined, decision: undefined };
    const target = { entry, backend: { name: 'pol', authorizer: own } };
    const call = () => authorizeCall('tools', target, {}, { identity: ANONYMOUS }, services, requestRecord);
    call();
    call();
    expect(isVisible('tools', entry, { identity: { ...ANONYMOUS } }, services)).toBe(true);
    const [missed, found] = [false, true].map((known) => [
      ['server', known],
      ['backend/pol', known],
    ]);
    expect(lookedUp).toEqual([...(missed ?? []), ...(found ?? []), ...(found ?? [])]);
  });
});
