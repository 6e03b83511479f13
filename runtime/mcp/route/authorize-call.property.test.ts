import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Aggregation } from '#crds/run-config/aggregation';
import type { Authz } from '#crds/run-config/incoming';
import { RequestError } from '#runtime/errors';
import { composeNames } from '#runtime/mcp/aggregate/compose-names';
import { identityOf, load, plainly } from '#runtime/policy/testdata/plain-decisions';
import { questions, sources, type PolicySource, type Question } from '#runtime/policy/testdata/policy-questions';
import { authorizeCall, isVisible } from './resolve-target.ts';

/** Swaps the names `t` and `u` at the backend's own endpoint, in the group, at both or at neither. */
const renamings = fc.record({ own: fc.boolean(), group: fc.boolean(), prefix: fc.constantFrom('', '{workload}_') });
const SWAPPED: Record<string, { name: string }> = { t: { name: 'u' }, u: { name: 't' } };

const PERMIT_ALL: PolicySource = { texts: ['permit(principal, action, resource);'], entities: [] };

/** Policy sets that decide by names alone. */
const byName = fc
  .constantFrom(
    'forbid(principal, action, resource == Tool::"t");',
    'forbid(principal, action, resource == Prompt::"u");',
    'forbid(principal, action, resource) when { resource.name == "t" && context has arg_path };',
    'forbid(principal, action, resource) unless { resource.name == "x_t" };',
    'forbid(principal, action, resource) when { resource has title && resource.original_name == "t" };',
  )
  .map((text): PolicySource => ({ texts: [...PERMIT_ALL.texts, text], entities: [] }));

/** The policy sets of a server and of a backend. */
const pairs = fc.oneof(
  fc.tuple(sources, sources),
  fc.tuple(fc.constant(PERMIT_ALL), fc.oneof(sources, byName)),
  fc.tuple(fc.oneof(sources, byName), fc.constant(PERMIT_ALL)),
  fc.tuple(byName, byName),
);

interface Renaming {
  readonly own: boolean;
  readonly group: boolean;
  readonly prefix: string;
}

/** Returns the catalogue entry of the question's tool or prompt, and the resource of the backend's own endpoint. */
function advertise({ action, resource }: Question, { own, group, prefix }: Renaming) {
  const kind = action === 'call_tool' ? 'tools' : 'prompts';
  const { backend, originalName, annotations } = resource;
  const tools_override = own ? SWAPPED : {};
  const settings = group ? [{ workload: backend, overrides: SWAPPED }] : [];
  const aggregation = Aggregation.parse({ prefix_format: prefix, tools: settings, prompts: settings });
  const listed = { name: originalName, text: JSON.stringify({ name: originalName }), annotations };
  const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies: [], entities_json: '[]' };
  const list = { backend: { name: backend, tools_override, authz }, entries: [listed] };
  const [entry] = composeNames(kind, [list], aggregation, 60).entries;
  if (entry === undefined) throw new Error('nothing is advertised');
  const ownName = own && kind === 'tools' ? (SWAPPED[originalName]?.name ?? originalName) : originalName;
  return { kind, entry, atOwn: { name: ownName, backend, originalName, annotations } } as const;
}

function isAllowed(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (error instanceof RequestError && error.answer.code === 'denied_by_policy') return false;
    throw error;
  }
}

describe('authorizeCall with policies of a server and of a backend', () => {
  it('allows what Cedar allows for both names, and shows all allowed entries', () => {
    fc.assert(
      fc.property(pairs, questions, renamings, ([ofServer, ofBackend], asked, renaming) => {
        const [authorizer, own] = [load(ofServer, {}), load(ofBackend, { name: 'backend/x' })];
        const services = {
          catalogues: { apps: { ownerOf: () => undefined } },
          authorizer,
          config: {},
          rateLimits: undefined,
          backends: { all: [], get: () => ({ authorizer: own }) },
        };
        for (const each of [...asked, ...asked]) {
          const { kind, entry, atOwn } = advertise(each, renaming);
          const asker = { identity: identityOf(each) };
          const target = { entry, backend: { name: entry.backend, authorizer: own } };
          const requestRecord = { target: undefined, backend: undefined, trace: undefined, decision: undefined };
          const allowed = isAllowed(() => authorizeCall(kind, target, each.args, asker, services, requestRecord));
          const expected =
            plainly(ofServer, { ...each, resource: entry }) && plainly(ofBackend, { ...each, resource: atOwn });
          expect({ ofServer, ofBackend, each, entry, allowed }).toEqual({
            ofServer,
            ofBackend,
            each,
            entry,
            allowed: expected,
          });
          if (allowed) expect(isVisible(kind, entry, asker, services)).toBe(true);
        }
      }),
      { seed: 7_302, numRuns: 60 },
    );
  });
});
