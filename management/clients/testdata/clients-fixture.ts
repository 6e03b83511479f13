import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Status } from '#crds/kinds/status';
import { CLIENTS, type Home } from '#management/clients/files/clients';
import type { Kind } from '#operator/snapshot';
import { fileRecords } from '../../stores/file-records.ts';
import type { StoredResource } from '../../stores/resources.ts';
import { Clients } from '../clients.ts';

/** Test environment: a home folder, a group `dev` with endpoint `tools`, and a group `ops` with `prod`. */
export interface ClientsFixture {
  clients: Clients;
  /** The same clients without files. */
  inCluster: Clients;
  folder: string;
  /** Returns the path of a client's configuration file. */
  fileOf: (id: string) => string;
  read: (id: string) => string | undefined;
  write: (id: string, text: string) => void;
  /** Adds the endpoint of a group; without a URL it is not served at present. */
  serve: (name: string, group: string, url: string | undefined) => void;
  stopServing: (name: string) => void;
  /** Makes the next replacement of a record fail, as on a full disk. */
  failOnce: () => void;
  remove: () => void;
}

export const TOOLS = 'http://127.0.0.1:4483/mcp';
export const PROD = 'https://mcp.example.com/mcp';

const resource = (kind: Kind, name: string, spec: Record<string, unknown>, status?: Status): StoredResource => ({
  kind,
  name,
  labels: {},
  annotations: {},
  spec,
  version: '1',
  status,
});

export function openClientsFixture(): ClientsFixture {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-clients-'));
  const home: Home = { platform: 'linux', path: join(folder, 'home'), environment: {} };
  const servers = new Map<string, StoredResource>();
  const groups = ['dev', 'ops', 'empty'].map((name) => resource('MCPGroup', name, {}));
  const resources = {
    list: (kind: Kind) =>
      Promise.resolve(kind === 'MCPGroup' ? groups : kind === 'VirtualMCPServer' ? [...servers.values()] : []),
  };
  const records = fileRecords(join(folder, 'records'), 'default')('clients');
  const replace = records.replace.bind(records);
  let isFailing = false;
  records.replace = (...asked) => {
    if (!isFailing) return replace(...asked);
    isFailing = false;
    return Promise.reject(new Error('no space left'));
  };
  const fileOf = (id: string) => CLIENTS.find((client) => client.id === id)?.file(home) ?? '';
  const fixture: ClientsFixture = {
    clients: new Clients({ records, resources, home }),
    inCluster: new Clients({ records, resources, home: undefined }),
    folder,
    fileOf,
    read: (id) => (existsSync(fileOf(id)) ? readFileSync(fileOf(id), 'utf8') : undefined),
    write: (id, text) => {
      mkdirSync(dirname(fileOf(id)), { recursive: true });
      writeFileSync(fileOf(id), text);
    },
    serve: (name, group, url) => {
      const status: Status = { phase: 'Ready', conditions: [], ...(url !== undefined && { url }) };
      servers.set(name, resource('VirtualMCPServer', name, { config: { groupRef: group } }, status));
    },
    stopServing: (name) => {
      servers.delete(name);
    },
    failOnce: () => {
      isFailing = true;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
  fixture.serve('tools', 'dev', TOOLS);
  fixture.serve('prod', 'ops', PROD);
  return fixture;
}
