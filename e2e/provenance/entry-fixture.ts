import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { workloadOperations } from '#management/operations/workloads';
import { serveOperations, TOKEN } from '#management/testdata/serve-operations';
import { GROUP, type WorkloadsFixture, openWorkloadsFixture } from '#management/workloads/testdata/workloads-fixture';

/** The API's answer for a workload made from an entry. */
interface Made {
  status: number;
  code: string | undefined;
  detail: string;
}

/** The management API of a folder, with a registry file whose entries may name their signer. */
export interface EntryFixture {
  place: WorkloadsFixture;
  /** Replaces the registry's entries by this one. `isPrivate` false: the registry may not call private addresses. */
  setEntry(name: string, entry: object, isPrivate?: boolean): Promise<void>;
  create(body: object): Promise<Made>;
  get(name: string): Promise<Record<string, unknown>>;
  /** Returns `status_context` of a workload in the list, which its status repeats. */
  contextOf(name: string): Promise<string>;
  edit(name: string, body: object): Promise<number>;
  /** Writes the administrator's root file of a host. */
  setRoots(host: string, text: string): void;
  close(): Promise<void>;
}

const Answer = z.looseObject({ code: z.string().optional(), detail: z.string().default('') });
const Listed = z.object({ workloads: z.array(z.object({ name: z.string(), status_context: z.string() })) });

export async function openEntryFixture(): Promise<EntryFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-roots-'));
  const place = openWorkloadsFixture({ 'group.yaml': GROUP }, { VMCP_SIGSTORE_ROOTS: folder });
  const served = await serveOperations(workloadOperations, { services: place.services() });
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(`${served.url}${path}`, { method, headers, ...sent });
  };
  return {
    place,
    async setEntry(name, entry, isPrivate = true) {
      const file = join(folder, 'registry.txt');
      writeFileSync(file, JSON.stringify({ servers: { [name]: entry } }));
      const settings = { local_path: file, allow_private_ip: isPrivate };
      await place.services().registries.configure('default', settings, undefined);
    },
    async create(body) {
      const answer = await call('POST', '/workloads', body);
      const { code, detail } = Answer.parse(await answer.json());
      return { status: answer.status, code, detail };
    },
    get: async (name) =>
      z.record(z.string(), z.unknown()).parse(await (await call('GET', `/workloads/${name}`)).json()),
    async contextOf(name) {
      const { workloads } = Listed.parse(await (await call('GET', '/workloads?all=true')).json());
      const listed = workloads.find((one) => one.name === name)?.status_context;
      const status: unknown = await (await call('GET', `/workloads/${name}/status`)).json();
      const { status_context: reported } = z.looseObject({ status_context: z.string() }).parse(status);
      if (listed !== reported) throw new Error(`the list says ${listed}, the status ${reported}`);
      return reported;
    },
    edit: async (name, body) => (await call('POST', `/workloads/${name}/edit`, body)).status,
    setRoots: (host, text) => writeFileSync(join(folder, `${host.replace(':', '_')}.json`), text),
    async close() {
      await served.close();
      await place.services().registries.close();
      place.remove();
      rmSync(folder, { recursive: true });
    },
  };
}
