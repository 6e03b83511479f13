/** @jest-environment node */
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { policyToJson, type PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { CedarRequest, loadPolicies as LoadPolicies } from './policy-engine.ts';

/** The part of the global that TypeScript's library for Node omits. */
interface WebAssemblyGlobal {
  Instance: new (...made: unknown[]) => { exports: Record<string, { buffer?: ArrayBuffer }> };
}

function parse(text: string): PolicyJson {
  const parsed = policyToJson(text);
  if (parsed.type === 'failure') throw new Error(parsed.errors[0]?.message);
  return parsed.json;
}

const only = (tool: string) => ({ p: parse(`permit(principal, action, resource == Tool::"${tool}");`) });
const request = (tool: string): CedarRequest => ({
  principal: { type: 'Client', id: 'a' },
  action: { type: 'Action', id: 'call_tool' },
  resource: { type: 'Tool', id: tool },
  context: {},
  entities: [],
});

describe('Cedar’s memory', () => {
  let loadPolicies: typeof LoadPolicies;
  let memory: { buffer?: ArrayBuffer } = {};
  const bytes = () => memory.buffer?.byteLength ?? 0;

  beforeAll(async () => {
    const wasm = Reflect.get(globalThis, 'WebAssembly') as WebAssemblyGlobal;
    const { Instance } = wasm;
    // A module that is already loaded would keep its instance.
    jest.resetModules();
    wasm.Instance = class extends Instance {
      constructor(...made: unknown[]) {
        super(...made);
        memory = this.exports.memory ?? memory;
      }
    };
    ({ loadPolicies } = await import('./policy-engine.ts'));
    wasm.Instance = Instance;
  });

  it('does not grow over 200 reloads of a policy set', () => {
    const decide = (round: number) => {
      const policies = Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [
          `p${i}`,
          parse(`permit(principal, action, resource == Tool::"t${round}-${i}");`),
        ]),
      );
      return loadPolicies('server', policies).evaluate(request(`t${round}-3`)).decision;
    };
    for (let round = 0; round < 10; round += 1) expect(decide(round)).toBe('allow');
    const before = bytes();
    for (let round = 10; round < 210; round += 1) expect(decide(round)).toBe('allow');
    expect(before).toBeGreaterThan(0);
    expect(bytes()).toBe(before);
  });

  it('contains a bounded number of policy sets, regardless of the number of names', () => {
    const sets = Array.from({ length: 520 }, (_, i) => loadPolicies(`backend/${i}`, only(`t${i}`)));
    const before = bytes();
    for (let i = 520; i < 1_040; i += 1) loadPolicies(`backend/${i}`, only(`t${i}`));
    expect(bytes() - before).toBeLessThan(1024 * 1024);
    expect(
      sets.map((set, i) => set.evaluate(request(`t${i}`)).decision).every((decision) => decision === 'allow'),
    ).toBe(true);
  });

  it('separates an older set of the same name while both are in use', () => {
    const older = loadPolicies('server', only('a'));
    const newer = loadPolicies('server', only('b'));
    for (let round = 0; round < 3; round += 1) {
      expect(older.evaluate(request('a')).decision).toBe('allow');
      expect(newer.evaluate(request('a')).decision).toBe('deny');
      expect(older.evaluate(request('b')).decision).toBe('deny');
      expect(newer.evaluate(request('b')).decision).toBe('allow');
    }
  });

  it('keeps the former set if a later one does not load', () => {
    const activeConfig = loadPolicies('server', only('a'));
    const broken = { p: { ...only('a').p, effect: 'maybe' } } as unknown as Record<string, PolicyJson>;
    expect(() => loadPolicies('server', broken)).toThrow(expect.objectContaining({ name: 'PolicyEngineFailed' }));
    expect(activeConfig.evaluate(request('a')).decision).toBe('allow');
  });

  it('reports each kind of Cedar failure', () => {
    const set = loadPolicies('server', only('a'));
    const failed = expect.objectContaining({ name: 'PolicyEngineFailed' });
    expect(() => set.evaluate({ ...request('a'), context: { x: null } })).toThrow(failed);
    expect(() => set.evaluate({ ...request('a'), context: { x: '\ud800' } })).toThrow(failed);
  });
});
