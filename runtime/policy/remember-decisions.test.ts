import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Authz } from '#crds/run-config/incoming';
import type { Identity } from '#runtime/incoming/identity';
import type { Log } from '#runtime/telemetry/log';
import { createAuthorizer } from './authorize.ts';
import { joinKey, keyPart } from './decision-key.ts';
import { createMemory } from './remember-decisions.ts';

const log: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe('a remembered decision', () => {
  it('is looked up and not made again, whoever else asked it', () => {
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

describe('the key of a decision', () => {
  it('is another one for other values, wherever they stand', () => {
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

describe('the memory', () => {
  it('never holds more than its bound, and forgets first what was not asked for', () => {
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

  it('remembers nothing where nothing may be remembered', () => {
    const memory = createMemory<number>(0);
    memory.set('a', 1);
    expect(memory.get('a')).toBeUndefined();
    expect(memory.size).toBe(0);
  });
});
