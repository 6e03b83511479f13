import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Authz } from '#crds/run-config/incoming';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import type { RenderedLists } from '#runtime/mcp/aggregate/catalogue';
import type { CatalogueEntry } from '#runtime/mcp/aggregate/catalogue-entry';
import { identityOf, load } from '#runtime/policy/testdata/plain-decisions';
import { resourceQuestions, resourceSources, sources, type Question } from '#runtime/policy/testdata/policy-questions';
import { unauthenticated } from '#runtime/outgoing/static-header';
import { renderEntries } from './render-entries.ts';
import { isVisible } from './resolve-target.ts';

const AUTHZ: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies: [], entities_json: '[]' };
const anySource = fc.oneof(resourceSources, sources);

function toEntry({ resource }: Question, index: number): CatalogueEntry {
  const { name, backend, originalName, annotations } = resource;
  const own = index % 3 === 0 ? { ...resource, name: originalName } : undefined;
  return { name, backend, originalName, annotations, own, text: JSON.stringify({ index, name }) };
}

/** Returns callers with other names, groups and claims, and the first caller again, whose result is cached. */
function callersLike(first: Question | undefined): Question[] {
  if (first === undefined) return [];
  const others = ['a', 'b'].flatMap((subject) => [[], ['g'], ['h']].map((groups) => ({ ...first, subject, groups })));
  return [first, ...others, { ...first, claims: {} }, first];
}

describe('renderEntries', () => {
  it('shows each caller the entries that are visible one by one', () => {
    fc.assert(
      fc.property(anySource, fc.option(anySource), resourceQuestions, (ofServer, ofBackend, asked) => {
        const authorizer = load(ofServer, {});
        const own = ofBackend === null ? undefined : load(ofBackend, { name: 'backend/x' });
        const get = (name: string) => ({ authorizer: name === 'x' ? undefined : own });
        const services = {
          catalogues: { apps: { ownerOf: () => undefined } },
          authorizer,
          config: { authz: AUTHZ },
          backends: { all: [], get },
        };
        const entries = asked.map(toEntry);
        const rendered: RenderedLists = { byCaller: new Map(), byGroups: new Map(), groups: undefined };
        for (const caller of callersLike(asked[0])) {
          const identity = identityOf(caller);
          const text = renderEntries('tools', { entries, rendered }, { identity }, services);
          const visible = entries.filter((entry) => isVisible('tools', entry, { identity }, services));
          expect(text).toBe(`"tools":[${visible.map((entry) => entry.text).join(',')}]`);
        }
      }),
      { seed: 4_711, numRuns: 300 },
    );
  });

  it('renders a list again when only the policies of a backend change', () => {
    const rendered: RenderedLists = { byCaller: new Map(), byGroups: new Map(), groups: undefined };
    const entry = { name: 't', backend: 'y', originalName: 't', text: '{}', annotations: undefined };
    const authorizer = load({ texts: ['permit(principal, action, resource);'], entities: [] }, {});
    const show = (effect: string) => {
      const own = load({ texts: [`${effect}(principal, action, resource);`], entities: [] }, { name: 'backend/y' });
      const backends = {
        all: [{ name: 'y', credential: unauthenticated, authorizer: own }],
        get: () => ({ authorizer: own }),
      };
      const services = {
        catalogues: { apps: { ownerOf: () => undefined } },
        authorizer,
        config: { authz: AUTHZ },
        backends,
      };
      return renderEntries('tools', { entries: [entry], rendered }, { identity: ANONYMOUS }, services);
    };
    expect([show('permit'), show('forbid'), show('permit')]).toEqual(['"tools":[{}]', '"tools":[]', '"tools":[{}]']);
  });
});
