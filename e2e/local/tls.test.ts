import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool } from './call-tool.ts';
import { server, whoami } from './manifests.ts';
import { eventually, makeWorkplace, type StatusOutput, type Workplace } from './run-vmcp.ts';

const testdata = new URL('../../runtime/incoming/testdata/', import.meta.url);
const pem = (name: string) => readFileSync(new URL(name, testdata), 'utf8');
const CERTIFICATE = pem('loopback-cert.pem');

let place: Workplace;
let port: number;
let plain: string;
let encrypted: string;

const identityOf = ({ processes }: StatusOutput, name: string) =>
  processes.find((one) => one.name === name)?.identity?.pid;

/**
 * Returns the HTTP status over TLS with the certificate of the test as the only authority; undefined if the port has no
 * TLS.
 */
function askEncrypted(): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port, path: '/mcp', method: 'DELETE', ca: CERTIFICATE, agent: false });
    asked.on('error', () => resolve(undefined));
    asked.on('response', (response) => resolve(response.resume().statusCode));
    asked.end();
  });
}

/** Waits until another process serves the endpoint, and verifies that the backend's process is the same. */
async function untilReplaced(before: StatusOutput): Promise<StatusOutput> {
  const status = await place.statusThat((now) => {
    const pid = identityOf(now, 'vmcp-demo');
    return pid !== undefined && pid !== identityOf(before, 'vmcp-demo') && now.phase === 'Ready';
  });
  expect(identityOf(status, 'mcp-first')).toBe(identityOf(before, 'mcp-first'));
  return status;
}

beforeAll(async () => {
  place = makeWorkplace();
  port = await findFreePort();
  plain = server('demo', port);
  encrypted = plain.replace('http://', 'https://').replace('spec:\n', 'spec:\n  tls: {secretRef: {name: cert}}\n');
  place.manifest('server.yaml', plain);
  place.manifest('first.yaml', whoami('first', 'demo', await findFreePort()));
  const values = { 'tls.crt': CERTIFICATE, 'tls.key': pem('loopback-key.pem') };
  place.manifest(
    'cert.yaml',
    `apiVersion: v1\nkind: Secret\nmetadata: {name: cert}\nstringData: ${JSON.stringify(values)}\n`,
  );
  const { code, stderr } = await place.run(['up', 'manifests', '--detach']);
  expect([code, stderr]).toEqual([0, '']);
});
afterAll(() => place.close());

describe('a server of one machine', () => {
  it('starts TLS in a new process on the same port, ends it in another one, and keeps its backend', async () => {
    const first = await place.status();
    expect(await askEncrypted()).toBeUndefined();

    place.manifest('server.yaml', encrypted);
    const second = await untilReplaced(first);
    await eventually(askEncrypted, (status) => status === 400);
    await expect(callTool(`http://127.0.0.1:${port}/mcp`, 'first_whoami')).rejects.toThrow();

    place.manifest('server.yaml', plain);
    const third = await untilReplaced(second);
    const call = () => callTool(`http://127.0.0.1:${port}/mcp`, 'first_whoami').catch(() => undefined);
    await eventually(call, (caller) => caller !== undefined);
    expect(await askEncrypted()).toBeUndefined();
    const restarts = (status: StatusOutput) => status.processes.map(({ name, restarts }) => [name, restarts]);
    expect(restarts(third)).toEqual(restarts(first));
  });
});
