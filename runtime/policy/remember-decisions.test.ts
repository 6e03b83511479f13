import { setImmediate as giveWay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Authz } from '#crds/run-config/incoming';
import type { Identity } from '#runtime/incoming/identity';
import type { Log } from '#runtime/telemetry/log';
import { createAuthorizer } from './authorize.ts';
import { joinKey, keyPart } from './decision-key.ts';
import { createMemory } from './remember-decisions.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const log: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe('cached decision', () => {
  it('comes from the cache for every caller of the class', () => {
    const lookups: boolean[] = [];
    const metrics = { lookedUp: (remembered: boolean) => lookups.push(remembered) };
    const text = 'permit(principal, action, resource) when { context.arg_n > 3 && principal.claim_role == "x" };';
    const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies: [text], entities_json: '[]' };
    const authorizer = createAuthorizer(authz, { log, metrics });
    const nobody = { issuer: '', clientId: undefined, scopes: [], groups: [], token: undefined, expiresAt: Infinity };
    const ask = (subject: string, role: string, args: unknown, name = 't') => {
      const identity: Identity = { ...nobody, subject, key: subject, claims: { role, other: subject } };
      authorizer.decide(identity, 'call_tool', { name, backend: 'b', originalName: 't' }, args);
      return lookups.at(-1);
    };
    expect(ask('a', 'x', { n: 4 })).toBe(false);
    expect(ask('a', 'x', { n: 4, other: 1 })).toBe(true);
    expect(ask('b', 'x', { n: 4 })).toBe(true);
    expect(ask('b', 'y', { n: 4 })).toBe(false);
    expect(ask('b', 'x', { n: 5 })).toBe(false);
    expect(ask('b', 'x', { n: '4' })).toBe(false);
    expect(ask('b', 'x', { n: 4 }, 'u')).toBe(true);
    expect(ask('a', 'x', { n: 4 })).toBe(true);
  });
});

describe('classes of callers and resources', () => {
  const rest = { issuer: '', clientId: undefined, scopes: [], groups: [], token: undefined, expiresAt: Infinity };

  it('contain claims and URIs no longer than their callers and requests exist', async () => {
    const policies = ['permit(principal, action, resource) when { principal.claim_uris.contains(resource.name) };'];
    const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies, entities_json: '[]' };
    const authorizer = createAuthorizer(authz, { log });
    const decide = (index: number): boolean => {
      const name = `${index}`.repeat(50_000);
      const identity: Identity = { ...rest, subject: 'ann', key: 'ann', claims: { uris: [name] } };
      const resource = { name, backend: 'b', originalName: name };
      return authorizer.decide(identity, 'read_resource', resource, undefined).allowed;
    };
    const heapAfter = async (from: number, to: number): Promise<number> => {
      for (let index = from; index < to; index++) expect(decide(index)).toBe(true);
      await giveWay();
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = await heapAfter(100, 105);
    expect((await heapAfter(105, 155)) - before).toBeLessThan(3_000_000);
  });

  it('separate claims whose names differ only in invalid Unicode', () => {
    const policies = [
      'permit(principal, action, resource) when { principal has "claim_\ufffd" || {c: context}.c has claim_a };',
    ];
    const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies, entities_json: '[]' };
    const authorizer = createAuthorizer(authz, { log });
    const decide = (claim: string) => {
      const identity: Identity = { ...rest, subject: 'ann', key: 'ann', claims: { [claim]: 'x' } };
      return authorizer.decide(identity, 'call_tool', { name: 't', backend: 'b', originalName: 't' }, undefined)
        .allowed;
    };
    expect(['\ufffd', '\ud800', '\ufffd'].map(decide)).toEqual([true, false, true]);
    expect(['\ud800', '\ufffd'].map((claim) => decide(claim))).toEqual([false, true]);
  });
});

describe('callers that policies do not distinguish', () => {
  const policies = [
    'permit(principal in Group::"staff", action, resource);',
    'forbid(principal == Client::"mallory", action, resource) unless { principal.claim_level > 3 };',
  ];

  it('share decisions, and other callers do not', () => {
    let asked = 0;
    const metrics = { lookedUp: (remembered: boolean) => (asked += Number(!remembered)) };
    const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies, entities_json: '[]' };
    const authorizer = createAuthorizer(authz, { log, metrics });
    const rest = { issuer: '', clientId: undefined, scopes: [], token: undefined, expiresAt: Infinity };
    const decide = (subject: string, groups: string[], level = 1) => {
      const identity: Identity = { ...rest, subject, key: subject, groups, claims: { level } };
      const resource = { name: 't', backend: 'b', originalName: 't' };
      return authorizer.decide(identity, 'call_tool', resource, undefined).allowed;
    };
    expect(['ann', 'bob', 'eve'].map((subject) => decide(subject, ['staff', subject]))).toEqual([true, true, true]);
    expect(asked).toBe(1);
    expect([decide('ann', ['guests']), decide('mallory', ['staff']), decide('mallory', ['staff'], 4)]).toEqual([
      false,
      false,
      true,
    ]);
    expect(asked).toBe(4);
  });
});

describe('callers with claims of their own', () => {
  const policies = [
    'permit(principal, action, resource) when { principal.claim_level > 5 };',
    'forbid(principal, action, resource) when { principal.claim_team like "guest-*" };',
  ];

  it('share decisions if each comparison with a literal has the same outcome', () => {
    let asked = 0;
    const metrics = { lookedUp: (remembered: boolean) => (asked += Number(!remembered)) };
    const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies, entities_json: '[]' };
    const authorizer = createAuthorizer(authz, { log, metrics });
    const rest = { issuer: '', clientId: undefined, scopes: [], groups: [], token: undefined, expiresAt: Infinity };
    const decide = (level: number, team: string) => {
      const identity: Identity = { ...rest, subject: team, key: team, claims: { level, team } };
      const resource = { name: 't', backend: 'b', originalName: 't' };
      return authorizer.decide(identity, 'call_tool', resource, undefined).allowed;
    };
    expect([decide(6, 'red'), decide(9, 'blue'), decide(7, 'green')]).toEqual([true, true, true]);
    expect(asked).toBe(1);
    expect([decide(5, 'red'), decide(6, 'guest-red'), decide(6, 'guest-blue')]).toEqual([false, false, false]);
    expect(asked).toBe(3);
  });
});

describe('key of a decision', () => {
  it('differs for different values at any position', () => {
    const text = fc.constantFrom('', 'a', 'b', '\n', '"', ',', '["a"]', 'null', '#', 'a'.repeat(600));
    const parts = fc.tuple(
      fc.array(text, { maxLength: 3 }),
      fc.array(text, { maxLength: 3 }),
      fc.array(text, { maxLength: 3 }),
    );
    const keyOf = ([a, b, c]: [string[], string[], string[]]) =>
      joinKey('call_tool', keyPart(a), keyPart(b), keyPart(c));
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        expect(keyOf(one) === keyOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { seed: 11, numRuns: 2_000 },
    );
    const values = ['1', 1, true, 'true', null, 'null', [1], '[1]', ['1'], [], '', { unreadable: 'arg_x' }];
    expect(new Set(values.map((each) => keyPart([each]))).size).toBe(values.length);
  });

  it('stays short for long values', () => {
    expect(keyPart(['x'.repeat(100_000)]).length).toBeLessThan(64);
    expect(keyPart(['x'.repeat(100_000)])).not.toBe(keyPart(['x'.repeat(100_001)]));
  });
});

describe('createMemory', () => {
  it('never exceeds its capacity, and evicts entries without recent use first', () => {
    const memory = createMemory<number>(10);
    memory.set('kept', 0);
    for (let i = 1; i <= 1_000; i += 1) {
      memory.set(`k${i}`, i);
      expect(memory.get('kept')).toBe(0);
      expect(memory.size).toBeLessThanOrEqual(10);
    }
    expect(memory.get('k1000')).toBe(1_000);
    expect(memory.get('k1')).toBeUndefined();
  });

  it('caches nothing with capacity 0', () => {
    const memory = createMemory<number>(0);
    memory.set('a', 1);
    expect(memory.get('a')).toBeUndefined();
    expect(memory.size).toBe(0);
  });
});
