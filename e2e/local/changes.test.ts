import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isPortFree } from '#local/check-port';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool, connect } from './call-tool.ts';
import { headerAuth, secret, server, whoami } from './manifests.ts';
import { eventually, makeWorkplace, type StatusOutput, type Workplace } from './run-vmcp.ts';

let place: Workplace;
let endpoint: string;
let ports: number[];
/** Connected before the first change; its session must outlive all of them. */
let client: Client;
let pids: Map<string, number | undefined>;

const WITH_KEY = '  externalAuthConfigRef: {name: key}\n';
const hashOf = (value: string) => createHash('sha256').update(value).digest('hex').slice(0, 16);
const pidsOf = ({ processes }: StatusOutput) => new Map(processes.map(({ name, identity }) => [name, identity?.pid]));
const backendOf = (status: StatusOutput, name: string) => status.backends.find((backend) => backend.name === name);
const toolNames = async () => (await client.listTools()).tools.map(({ name }) => name).sort();
const condition = ({ conditions }: StatusOutput, type: string) => conditions.find((one) => one.type === type);

/** Verifies that the processes are the same as before. */
async function nothingWasRestarted(names: string[]): Promise<void> {
  const now = pidsOf(await place.status());
  for (const name of names) expect([name, now.get(name)]).toEqual([name, pids.get(name)]);
}

beforeAll(async () => {
  place = makeWorkplace();
  ports = [await findFreePort(), await findFreePort(), await findFreePort()];
  endpoint = `http://127.0.0.1:${ports[0]!}/mcp`;
  place.manifest('server.yaml', server('demo', ports[0]!));
  place.manifest('first.yaml', whoami('first', 'demo', ports[1]!, WITH_KEY));
  place.manifest('key.yaml', headerAuth('key', 'key'));
  place.manifest('secret.yaml', secret('key', 'one'));
  const { code, stderr } = await place.run(['up', 'manifests', '--detach']);
  expect([code, stderr]).toEqual([0, '']);
  pids = pidsOf(await place.status());
  client = await connect(endpoint);
});
afterAll(async () => {
  await client.close();
  await place.close();
});

describe('a running vmcp', () => {
  it('adds a new backend, and restarts nothing', async () => {
    place.manifest('second.yaml', whoami('second', 'demo', ports[2]!));
    await place.statusThat((status) => backendOf(status, 'second')?.phase === 'Ready');
    await eventually(toolNames, (names) => names.length === 2);
    expect(await toolNames()).toEqual(['first_whoami', 'second_whoami']);
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
    pids = pidsOf(await place.status());
  });

  it('sends a changed Secret to the backend, deletes the old value from the disk, and restarts nothing', async () => {
    expect(await callTool(endpoint, 'first_whoami')).toMatchObject({ headerHashes: { 'x-key': hashOf('one') } });
    place.manifest('secret.yaml', secret('key', 'two'));
    await eventually(
      () => callTool(endpoint, 'first_whoami'),
      (caller) => JSON.stringify(caller.headerHashes).includes(hashOf('two')),
    );
    await nothingWasRestarted(['vmcp-demo', 'mcp-first', 'mcp-second']);
    const folder = join(place.path, '.vmcp/run/default/vmcp-demo/secrets');
    const values = () =>
      readdirSync(folder).map((name) => place.read(join('.vmcp/run/default/vmcp-demo/secrets', name)));
    expect(await eventually(values, (all) => !all.includes('one'))).toContain('two');
  });

  it('restarts only the backend whose environment changed', async () => {
    const env = '  env: [{name: NOTE, value: changed}]\n';
    const before = pidsOf(await place.status()).get('mcp-second');
    place.manifest('second.yaml', whoami('second', 'demo', ports[2]!, env));
    await place.statusThat((status) => ![undefined, before].includes(pidsOf(status).get('mcp-second')));
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('reports a file that is no longer YAML, with its line, and keeps serving its former resources', async () => {
    place.manifest('second.yaml', 'apiVersion: [\n  kind: : MCPServer\n');
    const { problems } = await place.statusThat((status) => status.problems.length > 0);
    expect(problems[0]).toMatchObject({ file: expect.stringContaining('second.yaml'), line: expect.any(Number) });
    expect(await toolNames()).toEqual(['first_whoami', 'second_whoami']);
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
    place.manifest('second.yaml', whoami('second', 'demo', ports[2]!));
    await place.statusThat((status) => status.problems.length === 0);
  });

  it('keeps the former configuration when incomingAuth becomes invalid, and reports it', async () => {
    const broken = server('demo', ports[0]!).replace('type: anonymous', 'type: oidc');
    place.manifest('server.yaml', broken);
    const status = await place.statusThat((now) => now.phase === 'Degraded');
    expect(condition(status, 'Stalled')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('oidcConfig'),
    });
    expect(await toolNames()).toEqual(['first_whoami', 'second_whoami']);
    place.manifest('server.yaml', server('demo', ports[0]!));
    await place.statusThat((now) => now.phase === 'Ready');
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('removes only the backend whose Secret is missing, and names both', async () => {
    place.manifest('secret.yaml', undefined);
    const status = await place.statusThat((now) => backendOf(now, 'first')?.phase === 'Excluded');
    expect(backendOf(status, 'first')?.message).toContain('Secret "key"');
    await eventually(toolNames, (names) => names.join() === 'second_whoami');
    place.manifest('secret.yaml', secret('key', 'three'));
    await eventually(toolNames, (names) => names.length === 2);
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('ends a removed backend, and keeps the others', async () => {
    place.manifest('second.yaml', undefined);
    await eventually(toolNames, (names) => names.join() === 'first_whoami');
    await eventually(
      () => isPortFree('127.0.0.1', ports[2]!),
      (free) => free,
    );
    // The port is free before the status reports the end.
    await place.statusThat(({ processes }) => !processes.some(({ name }) => name === 'mcp-second'));
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('ends a removed server, and deletes all its files', async () => {
    place.manifest('server.yaml', undefined);
    await eventually(
      () => isPortFree('127.0.0.1', ports[0]!),
      (free) => free,
    );
    const left = () => readdirSync(join(place.path, '.vmcp'), { recursive: true }).map(String);
    await eventually(left, (files) => !files.some((file) => file.includes('run-config') || file.includes('sealing')));
  });
});
