import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { Outcome } from '#operator/plan/outcome';

const ROOT = join(import.meta.dirname, '../../..');
const GOLDEN = join(ROOT, 'operator/plan/testdata');

/** A Lua interpreter, which has no types. */
interface Fengari {
  to_luastring: (text: string) => Uint8Array;
  to_jsstring: (bytes: Uint8Array) => string;
  lua: {
    lua_getfield(state: object, at: number, name: Uint8Array): void;
    lua_tostring(state: object, at: number): Uint8Array;
  };
  lauxlib: { luaL_newstate(): object; luaL_dostring(state: object, text: Uint8Array): number };
  lualib: { luaL_openlibs(state: object): void };
}
const { lua, lauxlib, lualib, to_luastring, to_jsstring } = createRequire(import.meta.url)('fengari') as Fengari;

const settings = parse(readFileSync(join(ROOT, 'examples/gitops/argo-cd/argocd-cm.yaml'), 'utf8')) as {
  data: { 'resource.customizations': string };
};
const customizations = parse(settings.data['resource.customizations']) as Record<string, { 'health.lua': string }>;

function toLua(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (Array.isArray(value)) return `{${value.map(toLua).join(', ')}}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, inside]) => `[${JSON.stringify(key)}] = ${toLua(inside)}`)
    .join(', ')}}`;
}

/** Returns the result of the health check for a resource. */
function healthOf(resource: object): { status: string; message: string } {
  const script = customizations['vmcp.dev/*']?.['health.lua'] ?? '';
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  const text = `return (function(obj)\n${script}\nend)(${toLua(resource)})`;
  if (lauxlib.luaL_dostring(state, to_luastring(text)) !== 0) throw new Error(to_jsstring(lua.lua_tostring(state, -1)));
  lua.lua_getfield(state, -1, to_luastring('status'));
  const status = to_jsstring(lua.lua_tostring(state, -1));
  lua.lua_getfield(state, -2, to_luastring('message'));
  const message = to_jsstring(lua.lua_tostring(state, -1));
  return { status, message };
}

const condition = (type: string, status: string, reason = 'A', message = `${type} is ${status}`) => ({
  type,
  status,
  reason,
  message,
});
const resource = (conditions: object[] | undefined, observedGeneration?: number) => ({
  metadata: { name: 'a', generation: 2 },
  ...(conditions && { status: { conditions, ...(observedGeneration !== undefined && { observedGeneration }) } }),
});

describe('the health check for Argo CD', () => {
  it.each<[string, string, object]>([
    ['Progressing', 'nobody has looked at', resource(undefined)],
    ['Progressing', 'no operator has looked at', resource([condition('Ready', 'Unknown', 'NotLookedAt')])],
    ['Progressing', 'waits for something', resource([condition('Ready', 'False'), condition('Waiting', 'True')])],
    ['Progressing', 'is not active everywhere', resource([condition('Ready', 'True')], 1)],
    ['Degraded', 'needs somebody', resource([condition('Ready', 'False'), condition('Stalled', 'True')], 1)],
    [
      'Degraded',
      'serves without a backend',
      resource([condition('Ready', 'True'), condition('BackendsResolved', 'False')], 2),
    ],
    ['Suspended', 'is stopped', resource([condition('Ready', 'False', 'Suspended')], 2)],
    ['Healthy', 'is served', resource([condition('Ready', 'True'), condition('BackendsResolved', 'True')], 2)],
  ])('returns %s for a resource that %s', (status, _what, object) => {
    expect(healthOf(object).status).toBe(status);
  });

  it('returns the health and message of the conditions, for each status that the planner writes', () => {
    const outputs = readdirSync(GOLDEN).filter((file) => file.endsWith('.out.yaml'));
    const seen = new Set<string>();
    for (const file of outputs) {
      const { status } = parse(readFileSync(join(GOLDEN, file), 'utf8')) as Outcome;
      if (!status) continue;
      const { status: health, message } = healthOf({ metadata: { generation: status.observedGeneration }, status });
      const is = (type: string, state: string) =>
        status.conditions.some((one) => one.type === type && one.status === state);
      if (is('Stalled', 'True')) expect([file, health]).toEqual([file, 'Degraded']);
      if (health === 'Healthy') expect([file, is('Ready', 'True'), is('Stalled', 'True')]).toEqual([file, true, false]);
      expect(status.conditions.map((one) => one.message)).toContain(message);
      seen.add(health);
    }
    expect([...seen].sort()).toEqual(expect.arrayContaining(['Degraded', 'Healthy', 'Progressing']));
  });
});
