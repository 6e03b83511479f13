import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { OperationAccepted, WorkloadOperation } from '#management/records/workload-operation';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server } from '../local/manifests.ts';
import { eventually, makeWorkplace } from '../local/run-vmcp.ts';

/** Enough workloads that their deletion takes a while. */
const MANY = 80;
const names = Array.from({ length: MANY }, (_, index) => `far-${index}`);
const far = (name: string): string => `apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata: {name: ${name}}
spec: {groupRef: demo, remoteUrl: 'http://127.0.0.1:9/mcp'}
---
`;

const isManifest = (file: string): boolean => file.endsWith('.yaml');

const Document = z.object({ kind: z.string(), metadata: z.object({ name: z.string() }), spec: z.unknown() });
const StoredWork = z.object({
  value: z.object({ status: z.string(), workloads: z.array(z.object({ status: z.string() })) }),
});

it('a deletion of many workloads that kill -9 ends leaves each as it was or gone, and the next vmcp finishes it', async () => {
  const place = makeWorkplace();
  // Several manifests in a file, so that the deletion has to edit it.
  place.manifest('server.yaml', server('demo', await findFreePort()));
  for (let at = 0; at < MANY; at += 10)
    place.manifest(
      `far-${at}.yaml`,
      names
        .slice(at, at + 10)
        .map(far)
        .join(''),
    );
  place.manifest('kept.yaml', far('kept'));
  const manifests = join(place.path, 'manifests');
  const left = (): string[] =>
    // vmcp ignores other names: a killed write leaves an unfinished file beside the manifest.
    readdirSync(manifests)
      .filter(isManifest)
      .flatMap((file) => {
        const documents = parseAllDocuments(readFileSync(join(manifests, file), 'utf8'));
        const read = [documents].flat().filter((document) => document.toJS() !== null);
        return read.flatMap((document) => {
          expect(document.errors).toEqual([]);
          const { kind, metadata } = Document.parse(document.toJS());
          return kind === 'MCPServer' ? [metadata.name] : [];
        });
      });
  const file = (name: string) => join(place.path, '.vmcp', name);
  const open = async () => {
    const running = place.start(['up', 'manifests']);
    await eventually(() => existsSync(file('management-address')), Boolean, 60_000);
    const url = `${place.read('.vmcp/management-address')}/api/v1beta`;
    const token = place.read('.vmcp/management-token');
    const call = (method: string, path: string, body?: unknown) =>
      fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    return { running, call };
  };
  try {
    const first = await open();
    const answer = await first.call('POST', '/workloads/delete', { names: [...names, 'none'] });
    const { operation_id: id, accepted, unknown } = OperationAccepted.parse(await answer.json());
    expect([answer.status, accepted.length, unknown]).toEqual([202, MANY, ['none']]);
    const record = file(`records/default/operations/${id}.json`);
    const kept = () => StoredWork.parse(JSON.parse(readFileSync(record, 'utf8'))).value;
    const done = () => kept().workloads.filter(({ status }) => status === 'done').length;
    await eventually(done, (count) => count >= 5, 60_000);
    first.running.signal('SIGKILL');
    await first.running.ended;
    // Unless the kill interrupts the deletion, the test proves nothing.
    expect(kept().status).toBe('running');
    const now = left();
    expect(now).toContain('kept');
    expect(now.length).toBeGreaterThan(1);
    // Workloads recorded as done are gone. The workload in work at the kill may be either.
    expect([MANY + 1 - done(), MANY - done()]).toContain(now.length);
    for (const name of ['management-address', 'management-token']) expect(existsSync(file(name))).toBe(true);

    for (const name of ['management-address', 'management-token']) rmSync(file(name));
    const second = await open();
    const read = async () => WorkloadOperation.parse(await (await second.call('GET', `/operations/${id}`)).json());
    const told = await eventually(read, ({ status }) => status !== 'running', 120_000);
    expect([told.status, new Set(told.workloads.map(({ status }) => status))]).toEqual([
      'succeeded',
      new Set(['done']),
    ]);
    expect(left()).toEqual(['kept']);
    second.running.signal('SIGTERM');
    await second.running.ended;
  } finally {
    await place.close();
  }
}, 300_000);
