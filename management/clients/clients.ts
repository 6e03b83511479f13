import { z } from 'zod';
import { CLIENTS, findClient, type Home, type McpClient } from '#management/clients/files/clients';
import { Problem } from '../problem.ts';
import { Client, type RegisteredClient } from '../records/client.ts';
import type { RecordStore, StoredRecord } from '../stores/record-store.ts';
import type { Resources } from '../stores/resources.ts';
import { ClientFile, type Entries, printEntries } from './client-file.ts';

const StoredClient = z.strictObject({ ...Client.shape, entries: z.record(z.string(), z.string()).default({}) });
type StoredClient = z.infer<typeof StoredClient>;

interface ClientsOptions {
  records: RecordStore;
  resources: Pick<Resources, 'list'>;
  /** Home folder with the clients' files; absent in a cluster. */
  home: Home | undefined;
}

interface Registration {
  client: McpClient;
  live: (StoredRecord & { value: StoredClient }) | undefined;
  wanted: Entries;
}

/** Manages the clients of one namespace, and on one machine their configuration files. */
export class Clients {
  readonly #in: ClientsOptions;

  constructor(options: ClientsOptions) {
    this.#in = options;
  }

  async list(): Promise<Client[]> {
    const records = await this.#in.records.list();
    return records.map(({ value }) => StoredClient.parse(value)).map(({ name, groups }) => ({ name, groups }));
  }

  /** Checks all files before it changes the first. @throws Problem `bad_request` (unknown client or group), `conflict` */
  async register(names: readonly string[], groups: readonly string[], force: boolean): Promise<RegisteredClient[]> {
    const clients = [...new Set(names)].map(clientNamed);
    await checkGroups(this.#in.resources, groups);
    const { served } = await findEndpoints(this.#in.resources, groups);
    const registrations: Registration[] = [];
    for (const client of clients) {
      const live = await this.#live(client.id);
      const former = entriesOf(live);
      if (this.#in.home) new ClientFile(client, this.#in.home).check({ former, wanted: served, force });
      registrations.push({ client, live, wanted: served });
    }
    const registered: RegisteredClient[] = [];
    for (const one of registrations) registered.push(await this.#register(one, [...new Set(groups)], force));
    return registered;
  }

  /** @throws Problem `bad_request` with the field name if the group does not exist */
  async checkGroup(group: string): Promise<void> {
    await checkGroups(this.#in.resources, [group], 'group');
  }

  /** Deletes a client and removes the entries of vmcp from its file. @throws Problem `not_found`, `conflict` */
  async delete(name: string): Promise<void> {
    const live = await this.#live(name);
    if (!live) throw new Problem('not_found', `no client "${name}" is registered`);
    const client = clientNamed(name);
    if (this.#in.home)
      new ClientFile(client, this.#in.home).apply({ former: entriesOf(live), wanted: new Map(), force: false });
    await this.#in.records.delete(name, live.version);
  }

  /** Updates all files to the current endpoints. Returns the failures by client. */
  async update(): Promise<Map<string, unknown>> {
    const problems = new Map<string, unknown>();
    for (const { name } of await this.#in.records.list()) {
      try {
        await this.#update(name);
      } catch (problem) {
        problems.set(name, problem);
      }
    }
    return problems;
  }

  async #update(name: string): Promise<void> {
    const live = await this.#live(name);
    if (!live) return;
    const former = entriesOf(live);
    const wanted = entriesNow(former, await findEndpoints(this.#in.resources, live.value.groups));
    if (sameEntries(former, wanted)) return;
    await this.#register({ client: clientNamed(name), live, wanted }, live.value.groups, false);
  }

  /** Records the entries before it writes the file, so that a killed process leaves no unrecorded entries. */
  async #register({ client, live, wanted }: Registration, groups: string[], force: boolean): Promise<RegisteredClient> {
    const { records, home } = this.#in;
    const { id: name, format, after } = client;
    const former = entriesOf(live);
    const noted = home ? new Map([...wanted, ...former]) : new Map<string, string>();
    const version = await this.#store(live, { name, groups, entries: Object.fromEntries(noted) });
    const servers = Object.fromEntries(wanted);
    const configuration = { format, servers, text: printEntries(client, wanted), after };
    if (!home) return { name, groups, configuration: { ...configuration, written: false } };
    const file = new ClientFile(client, home);
    const { backup } = await this.#orForget({ client, live, wanted }, version, () =>
      file.apply({ former, wanted, force }),
    );
    // If this write fails, the earlier record still names all entries in the file.
    await records.replace(name, { name, groups, entries: servers }, version);
    return { name, groups, configuration: { file: file.path, written: wanted.size > 0, backup, ...configuration } };
  }

  /** Restores the previous record if the file cannot be written. */
  async #orForget<T>({ client: { id }, live }: Registration, version: string, write: () => T): Promise<T> {
    const { records } = this.#in;
    try {
      return write();
    } catch (problem) {
      if (live) await records.replace(id, live.value, version);
      else await records.delete(id, version);
      throw problem;
    }
  }

  async #store(live: Registration['live'], value: StoredClient): Promise<string> {
    const { records } = this.#in;
    return live ? records.replace(value.name, value, live.version) : records.create(value.name, value);
  }

  async #live(name: string): Promise<Registration['live']> {
    const record = await this.#in.records.get(name);
    return record && { ...record, value: StoredClient.parse(record.value) };
  }
}

/** @throws Problem `bad_request` */
function clientNamed(id: string): McpClient {
  const client = findClient(id);
  if (client) return client;
  throw new Problem('bad_request', `there is no client "${id}" (there is: ${CLIENTS.map((one) => one.id).join(', ')})`);
}

function entriesOf(live: Registration['live']): Entries {
  return new Map(Object.entries(live?.value.entries ?? {}));
}

/** Keeps the former URL of a server that has none at present, because clients retry by themselves. */
function entriesNow(former: Entries, { served, awaited }: Endpoints): Entries {
  const kept = [...former].filter(([name]) => awaited.has(name));
  return new Map([...kept, ...served]);
}

function sameEntries(one: Entries, other: Entries): boolean {
  return one.size === other.size && [...one].every(([name, url]) => other.get(name) === url);
}

interface Endpoints {
  /** Maps the name of each VirtualMCPServer to its URL. */
  served: Map<string, string>;
  awaited: Set<string>;
}

const Grouped = z.object({ config: z.object({ groupRef: z.string() }) });

/** Returns the endpoints of the VirtualMCPServers in these groups, or in all groups if none is named. */
async function findEndpoints(resources: Pick<Resources, 'list'>, groups: readonly string[]): Promise<Endpoints> {
  const endpoints: Endpoints = { served: new Map(), awaited: new Set() };
  for (const { name, spec, status } of await resources.list('VirtualMCPServer')) {
    const group = Grouped.safeParse(spec).data?.config.groupRef;
    if (group === undefined || (groups.length > 0 && !groups.includes(group))) continue;
    if (status?.url === undefined) endpoints.awaited.add(name);
    else endpoints.served.set(name, status.url);
  }
  return endpoints;
}

/** @throws Problem `bad_request` with the list of existing groups */
async function checkGroups(
  resources: Pick<Resources, 'list'>,
  groups: readonly string[],
  field = 'groups',
): Promise<void> {
  if (groups.length === 0) return;
  const known = (await resources.list('MCPGroup')).map(({ name }) => name);
  const unknown = groups.find((group) => !known.includes(group));
  if (unknown === undefined) return;
  const there = known.length === 0 ? 'there is none' : `there is: ${known.join(', ')}`;
  throw new Problem('bad_request', `${field}: there is no group "${unknown}" (${there})`);
}
