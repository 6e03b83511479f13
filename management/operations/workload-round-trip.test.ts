import { afterEach, beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { askOperation } from '../testdata/ask-operation.ts';
import { serveOperations, type ServedOperations } from '../testdata/serve-operations.ts';
import { recorded, spec } from '../workloads/testdata/generate-workloads.ts';
import { GROUP, type WorkloadsFixture, openWorkloadsFixture } from '../workloads/testdata/workloads-fixture.ts';
import { editWorkload, getWorkload } from './workloads.ts';

const params = { name: 'search' };

let fixture: WorkloadsFixture;
let served: ServedOperations;
beforeEach(async () => {
  fixture = openWorkloadsFixture({});
  served = await serveOperations([getWorkload, editWorkload], { services: fixture.services() });
});
afterEach(async () => {
  await served.close();
  fixture.remove();
});

/** Returns a manifest with comments and an unusual order of keys. */
function manifestOf(written: Record<string, unknown>, annotations: Record<string, string>): string {
  const metadata = stringify({ metadata: { ...params, annotations } });
  return `# What we search with.\nkind: MCPServer # a program\n${metadata}\n${stringify({ spec: written })}\n# The end.\napiVersion: vmcp.dev/v1alpha1\n`;
}

it('editWorkload keeps bytes and version for the answer of getWorkload, for 200 workloads', async () => {
  const roundTrip = async (written: Record<string, unknown>, annotations: Record<string, string>) => {
    const manifest = manifestOf(written, annotations);
    fixture.write('search.yaml', manifest);
    if (typeof written.groupRef === 'string')
      fixture.write('group.yaml', GROUP.replace('name: tools', `name: ${JSON.stringify(written.groupRef)}`));
    const read = await askOperation(served, getWorkload, { params });
    const headers = { 'if-match': read.etag };
    const edited = await askOperation(served, editWorkload, { params, body: read.body, headers });
    expect([read.status, edited.status, edited.body]).toEqual([200, 200, expect.objectContaining(params)]);
    expect(edited.etag).toBe(read.etag);
    expect(fixture.read('search.yaml')).toBe(manifest);
  };
  await fc.assert(fc.asyncProperty(spec, recorded, roundTrip), { numRuns: 200 });
}, 120_000);

it('editWorkload writes only the field that changed', async () => {
  const changed = async (written: Record<string, unknown>) => {
    const manifest = manifestOf({ ...written, groupRef: undefined, proxyPort: 7001 }, {});
    fixture.write('search.yaml', manifest);
    const { body, etag } = await askOperation(served, getWorkload, { params });
    const sent = { ...(body as object), proxy_port: 7002 };
    const edited = await askOperation(served, editWorkload, { params, body: sent, headers: { 'if-match': etag } });
    expect([edited.status, edited.etag === etag]).toEqual([200, false]);
    expect(fixture.read('search.yaml')).toBe(manifest.replace('proxyPort: 7001', 'proxyPort: 7002'));
  };
  await fc.assert(fc.asyncProperty(spec, changed), { numRuns: 10 });
}, 60_000);
