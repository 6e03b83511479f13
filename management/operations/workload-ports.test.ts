import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { takeLock } from '#local/lock';
import { type Told, askOperation } from '../testdata/ask-operation.ts';
import { serveOperations, type ServedOperations } from '../testdata/serve-operations.ts';
import { type WorkloadsFixture, openWorkloadsFixture } from '../workloads/testdata/workloads-fixture.ts';
import { createWorkload } from './create-workload.ts';
import { editWorkload, getWorkload, workloadOperations } from './workloads.ts';

let fixture: WorkloadsFixture;
let served: ServedOperations;
let programs: Server[] = [];
beforeEach(async () => {
  fixture = openWorkloadsFixture();
  served = await serveOperations(workloadOperations, { services: fixture.services() });
});
afterEach(async () => {
  for (const program of programs) program.close();
  programs = [];
  await served.close();
  fixture.remove();
});

/** Starts a program that listens on a free port of this machine. Returns the port. */
async function listen(): Promise<number> {
  const server = createServer();
  programs.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Returns a port on which nothing listens. */
async function freePort(): Promise<number> {
  const port = await listen();
  await new Promise((resolve) => programs.pop()?.close(resolve));
  return port;
}

const make = (proxy_port: number, force = false) =>
  askOperation(served, createWorkload, {
    body: { name: 'made', url: 'https://far.example/mcp', proxy_port },
    ...(force && { query: { force: 'true' } }),
  });
const edit = (body: object) => askOperation(served, editWorkload, { params: { name: 'search' }, body });
const warningsOf = ({ body }: Told) => (body as { warnings?: string[] }).warnings;
const other = (port: number, more = '') =>
  fixture.write(
    'other.yaml',
    `apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: { name: other }\nspec: { image: a, proxyPort: ${port}${more} }\n`,
  );
const inUse = (detail: string) => ({ status: 409, body: { code: 'in_use', detail: expect.stringContaining(detail) } });

describe('a change of proxy_port', () => {
  it('rejects a port of another resource, and accepts it with a warning by force', async () => {
    const port = await freePort();
    other(port);
    const conflict = `proxy_port: port ${port} is in use by MCPServer "other" (proxyPort): write another port`;
    expect(await make(port)).toMatchObject(inUse(`body ${conflict}, or send force=true`));
    expect(fixture.files()).not.toContain('mcpserver-made.yaml');
    expect(await edit({ proxy_port: port })).toMatchObject(inUse(conflict));
    expect(fixture.read('search.yaml')).not.toContain('proxyPort');
    const made = await make(port, true);
    expect([made.status, warningsOf(made)]).toEqual([201, [`accepted, but it waits: ${conflict}`]]);
  });

  it('rejects the port of its own program, and of a VirtualMCPServer', async () => {
    const port = await freePort();
    const own = { command: ['far'], image: null, target_port: port, proxy_port: port };
    expect(await edit(own)).toMatchObject(inUse(`port ${port} is in use by MCPServer "search" (mcpPort)`));
    fixture.write(
      'server.yaml',
      `apiVersion: vmcp.dev/v1alpha1\nkind: VirtualMCPServer\nmetadata: { name: demo }\nspec: { config: { groupRef: tools }, incomingAuth: { type: anonymous }, listen: { port: ${port} } }\n`,
    );
    expect(await make(port)).toMatchObject(inUse(`port ${port} is in use by VirtualMCPServer "demo" (listen.port)`));
  });

  it('rejects a port of another namespace, also of a workload with the same name', async () => {
    const port = await freePort();
    const far = (name: string) =>
      fixture.write(
        'far.yaml',
        `apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: { name: ${name}, namespace: far }\nspec: { image: a, proxyPort: ${port} }\n`,
      );
    far('made');
    const conflict = `port ${port} is in use by MCPServer "made" of namespace far (proxyPort)`;
    expect(await make(port)).toMatchObject(inUse(conflict));
    far('search');
    expect(await edit({ proxy_port: port })).toMatchObject(inUse(conflict.replace('made', 'search')));
  });

  it('accepts the port that its own endpoint was given, and names another endpoint that has it', async () => {
    const port = await listen();
    takeLock(fixture.state, fixture.folder, 'test');
    const reportOf = (name: string) => {
      const listen = { address: `127.0.0.1:${port}`, privateAddress: '127.0.0.1:1' };
      const resource = {
        key: { kind: 'MCPServer', namespace: 'default', name },
        status: { phase: 'Ready', conditions: [] },
        listen,
      };
      const report = { pid: process.pid, folder: fixture.folder, settled: true, problems: [], processes: [] };
      writeFileSync(
        fixture.state.status,
        JSON.stringify({ ...report, resources: [{ ...resource, isEndpoint: true }] }),
      );
    };
    reportOf('search');
    expect(warningsOf(await edit({ proxy_port: port }))).toBeUndefined();
    await edit({ proxy_port: 0 });
    reportOf('other');
    expect(warningsOf(await edit({ proxy_port: port }))).toEqual([
      `accepted, but it waits: proxy_port: port ${port} is in use by MCPServer "other" of namespace default: write another port`,
    ]);
  });

  it('accepts the port of a workload that is stopped', async () => {
    const port = await freePort();
    other(port, ', suspend: true');
    const made = await make(port);
    expect([made.status, warningsOf(made)]).toEqual([201, undefined]);
  });

  it('warns about a port on which another program listens, and not where the port stays the same', async () => {
    const port = await listen();
    const warnings = [
      `accepted, but it waits: proxy_port: port ${port} is in use by another program of this machine: stop that program, or write another port`,
    ];
    const made = await make(port);
    expect([made.status, warningsOf(made)]).toEqual([201, warnings]);
    // The endpoint itself may listen there by now.
    const { body: former } = await askOperation(served, getWorkload, { params: { name: 'made' } });
    const same = await askOperation(served, editWorkload, { params: { name: 'made' }, body: former });
    expect([same.status, warningsOf(same)]).toEqual([200, undefined]);
  });

  it('warns about a new port of an existing workload', async () => {
    const edited = await edit({ proxy_port: await listen() });
    expect([edited.status, warningsOf(edited)?.length]).toEqual([200, 1]);
    expect(warningsOf(await edit({ proxy_port: await freePort() }))).toBeUndefined();
  });
});
