import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Registry, RegistryInfo } from '../../records/registry.ts';
import type { ImageServer, RemoteServer } from '../../records/registry-entry.ts';
import { registryOperations } from '../../operations/registries.ts';
import { fileRecords } from '../../stores/file-records.ts';
import { servicesWith } from '../../testdata/services-with.ts';
import { serveOperations, type ServedOperations, TOKEN } from '../../testdata/serve-operations.ts';
import { Registries } from '../registries.ts';
import type { PendingLogin } from '../registry-login.ts';
import { localQuota } from '../registry-quota.ts';

type Options = ConstructorParameters<typeof Registries>[0];

export interface OpenRegistries {
  /** Sends a request to the API. Returns body, status and headers. */
  ask: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Asked>;
  registries: Registries;
  served: ServedOperations;
  problems: string[];
  clock: { now: number };
  /** Simulates a restart on the stored data. */
  restart(): Promise<void>;
  folder: string;
  close(): Promise<void>;
}

/** Union of all answers of the operations. */
interface Body extends Registry {
  code: string;
  detail: string;
  registries: RegistryInfo[];
  servers: ImageServer[];
  remote_servers: RemoteServer[];
  next_cursor?: string;
  is_remote: boolean;
  server: ImageServer;
  remote_server: RemoteServer;
  login: PendingLogin;
}

interface Asked {
  status: number;
  body: Body;
  headers: Headers;
}

const PLAIN = { proxy: undefined, privateAddresses: true, readSecret: () => Promise.resolve(undefined) };

/** Serves the operations on registries over HTTP with file storage. A function is called again at each restart. */
export async function openRegistries(more: Partial<Options> | (() => Partial<Options>) = {}): Promise<OpenRegistries> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-registries-'));
  const problems: string[] = [];
  const clock = { now: Date.parse('2026-05-05T00:00:00Z') };
  const records = fileRecords(join(folder, 'records'), 'default');
  const make = () =>
    new Registries({
      settings: records('registries'),
      copies: records('registrycopies'),
      ...PLAIN,
      quota: localQuota(),
      now: () => clock.now,
      onProblem: (text) => void problems.push(text),
      ...(typeof more === 'function' ? more() : more),
    });
  const opened: OpenRegistries = {
    registries: make(),
    served: undefined as never,
    problems,
    clock,
    folder,
    async ask(method, path, body, headers = {}) {
      const answer = await fetch(`${opened.served.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${TOKEN}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, body: JSON.parse(text) as Body };
    },
    async restart() {
      await opened.registries.close();
      opened.registries = make();
      services.registries = opened.registries;
    },
    async close() {
      await opened.served.close();
      await opened.registries.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const services = { registries: opened.registries };
  opened.served = await serveOperations(registryOperations, { services: servicesWith(services) });
  return opened;
}
