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

/** What was running before is the same process still. */
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

describe('while vmcp runs', () => {
  it('a new backend joins, and nothing that ran is restarted', async () => {
    place.manifest('second.yaml', whoami('second', 'demo', ports[2]!));
    await eventually(
      () => place.status(),
      (status) => backendOf(status, 'second')?.phase === 'Ready',
    );
    await eventually(toolNames, (names) => names.length === 2);
    expect(await toolNames()).toEqual(['first_whoami', 'second_whoami']);
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
    pids = pidsOf(await place.status());
  });

  it('a changed Secret reaches the backend, the old value leaves the disk, and nothing is restarted', async () => {
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

  it('a changed environment restarts that backend alone', async () => {
    const env = '  env: [{name: NOTE, value: changed}]\n';
    const before = pidsOf(await place.status()).get('mcp-second');
    place.manifest('second.yaml', whoami('second', 'demo', ports[2]!, env));
    await eventually(
      async () => pidsOf(await place.status()).get('mcp-second'),
      (pid) => pid !== undefined && pid !== before,
    );
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('a file that is no YAML any more is told with its line, and what it held goes on being served', async () => {
    place.manifest('second.yaml', 'apiVersion: [\n  kind: : MCPServer\n');
    const { problems } = await eventually(
      () => place.status(),
      (status) => status.problems.length > 0,
    );
    expect(problems[0]).toMatchObject({ file: expect.stringContaining('second.yaml'), line: expect.any(Number) });
    expect(await toolNames()).toEqual(['first_whoami', 'second_whoami']);
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
    place.manifest('second.yaml', whoami('second', 'demo', ports[2]!));
    await eventually(
      () => place.status(),
      (status) => status.problems.length === 0,
    );
  });

  it('an incomingAuth that is not valid leaves the former configuration in force, and says so', async () => {
    const broken = server('demo', ports[0]!).replace('type: anonymous', 'type: oidc');
    place.manifest('server.yaml', broken);
    const status = await eventually(
      () => place.status(),
      (now) => now.phase === 'Degraded',
    );
    expect(condition(status, 'Stalled')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('oidcConfig'),
    });
    expect(await toolNames()).toEqual(['first_whoami', 'second_whoami']);
    place.manifest('server.yaml', server('demo', ports[0]!));
    await eventually(
      () => place.status(),
      (now) => now.phase === 'Ready',
    );
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('a missing Secret takes away its backend, by name, and no other', async () => {
    place.manifest('secret.yaml', undefined);
    const status = await eventually(
      () => place.status(),
      (now) => backendOf(now, 'first')?.phase === 'Excluded',
    );
    expect(backendOf(status, 'first')?.message).toContain('Secret "key"');
    await eventually(toolNames, (names) => names.join() === 'second_whoami');
    place.manifest('secret.yaml', secret('key', 'three'));
    await eventually(toolNames, (names) => names.length === 2);
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('a backend that is removed ends, and the others stay', async () => {
    place.manifest('second.yaml', undefined);
    await eventually(toolNames, (names) => names.join() === 'first_whoami');
    await eventually(
      () => isPortFree('127.0.0.1', ports[2]!),
      (free) => free,
    );
    // Its port is free before its end is said.
    await eventually(
      () => place.status(),
      ({ processes }) => !processes.some(({ name }) => name === 'mcp-second'),
    );
    await nothingWasRestarted(['vmcp-demo', 'mcp-first']);
  });

  it('a server that is removed ends with all that was made for it', async () => {
    place.manifest('server.yaml', undefined);
    await eventually(
      () => isPortFree('127.0.0.1', ports[0]!),
      (free) => free,
    );
    const left = () => readdirSync(join(place.path, '.vmcp'), { recursive: true }).map(String);
    await eventually(left, (files) => !files.some((file) => file.includes('run-config') || file.includes('sealing')));
  });
});
