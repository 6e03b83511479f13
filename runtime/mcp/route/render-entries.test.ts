import { describe, expect, it } from '@jest/globals';
import { openAuthorizer } from '#runtime/policy/open-authorizer';
import type { Authorizer, PolicyResource } from '#runtime/policy/authorizer';
import type { RenderedLists } from '#runtime/mcp/aggregate/catalogue';
import type { CatalogueEntry } from '#runtime/mcp/aggregate/catalogue-entry';
import { prepareEntries } from './render-entries.ts';

const emptyRendered = (): RenderedLists => ({ byCaller: new Map(), byGroups: new Map(), groups: undefined });
const entryOf = (name: string, own?: PolicyResource): CatalogueEntry => ({
  name,
  backend: 'b',
  originalName: name,
  annotations: undefined,
  own,
  text: '{}',
});

/** Creates an authorizer that classifies resources by the first letter of their names. */
function recordWarmUps(warmed: string[]): Authorizer {
  const classes = new Map<string, object>();
  const classOf = ({ name }: PolicyResource) => {
    const letter = name.slice(0, 1);
    if (!classes.has(letter)) classes.set(letter, {});
    return classes.get(letter)!;
  };
  return { ...openAuthorizer(), classOf, warmUp: (action, { name }) => warmed.push(`${action} ${name}`) };
}

function servicesOf(authorizer: Authorizer, own?: Authorizer) {
  return {
    catalogues: { apps: { ownerOf: () => undefined } },
    authorizer,
    config: { authz: undefined },
    backends: { all: [], get: () => ({ authorizer: own }) },
  };
}

describe('prepareEntries', () => {
  it('warms the policies up once for each group of entries', () => {
    const warmed: string[] = [];
    const services = servicesOf(recordWarmUps(warmed));
    const list = { entries: ['a1', 'a2', 'b1'].map((name) => entryOf(name)), rendered: emptyRendered() };
    prepareEntries('prompts', list, services);
    prepareEntries('prompts', list, services);
    expect(warmed).toEqual(['get_prompt a1', 'get_prompt b1']);
  });

  it('warms the policies of a backend up with the backend’s own names', () => {
    const warmed: string[] = [];
    const own = { name: 'c', backend: 'b', originalName: 'c' };
    const services = servicesOf(openAuthorizer(), recordWarmUps(warmed));
    prepareEntries('tools', { entries: [entryOf('b_c', own)], rendered: emptyRendered() }, services);
    expect(warmed).toEqual(['call_tool c']);
  });

  it('evaluates at most eight requests for a list of many groups', () => {
    const warmed: string[] = [];
    const entries = Array.from('abcdefghijklmn', (letter) => entryOf(letter));
    prepareEntries('tools', { entries, rendered: emptyRendered() }, servicesOf(recordWarmUps(warmed)));
    expect(warmed).toHaveLength(8);
  });
});
