import { z } from 'zod';
import { type Expected, isExpected } from '../if-match.ts';
import { Problem } from '../problem.ts';
import type { NewGroup, WorkloadGroup } from '../records/group.ts';
import { onWhatIsRead } from '../stores/attempts.ts';
import { stale } from '../stores/record-store.ts';
import type { Resources, StoredResource, WriteOptions } from '../stores/resources.ts';

const GROUP = 'MCPGroup';

const Description = z.object({ description: z.string() });
const Grouped = z.object({ config: z.object({ groupRef: z.string() }) });

export interface ReadGroup {
  group: WorkloadGroup;
  version: string;
}

/** The MCPGroups of one namespace. */
export class Groups {
  readonly #resources: Resources;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  async list(): Promise<WorkloadGroup[]> {
    const members = await this.#members();
    return (await this.#resources.list(GROUP)).map((resource) => render(resource, members));
  }

  /** @throws Problem `not_found` */
  async get(name: string): Promise<ReadGroup> {
    return this.#readOf(await this.#found(name));
  }

  /** @throws Problem `already_exists`, `bad_request` */
  async create({ name, description }: NewGroup): Promise<ReadGroup> {
    const spec = specOf({}, description);
    return this.#readOf(await this.#resources.create({ kind: GROUP, name, labels: {}, annotations: {}, spec }));
  }

  /** @throws Problem `not_found`, `stale`, `busy`, `conflict` */
  async edit(name: string, description: string | undefined, { expected, force }: WriteOptions): Promise<ReadGroup> {
    return onWhatIsRead(name, expected, async (attempts) => {
      const resource = await this.#found(name);
      if (!isExpected(resource.version, expected)) throw stale(name);
      const spec = description === undefined ? resource.spec : specOf(resource.spec, description);
      // The edit must not write back fields that others changed since the read.
      const options = { expected: [resource.version], force, attempts };
      return this.#readOf(await this.#resources.replace({ ...resource, spec }, options));
    });
  }

  /** @throws Problem `not_found`, `in_use`, `stale` */
  async delete(name: string, expected: Expected | undefined): Promise<void> {
    await this.#found(name);
    const users = await this.#usersOf(name);
    if (users.length > 0)
      throw new Problem('in_use', `group "${name}" is used by ${users.join(', ')}: move or delete them first`);
    if (!(await this.#resources.delete(GROUP, name, { expected }))) throw notFound(name);
  }

  async #found(name: string): Promise<StoredResource> {
    const found = await this.#resources.get(GROUP, name);
    if (!found) throw notFound(name);
    return found;
  }

  async #readOf(resource: StoredResource): Promise<ReadGroup> {
    return { group: render(resource, await this.#members()), version: resource.version };
  }

  async #members(): Promise<Map<unknown, string[]>> {
    const workloads = await this.#resources.list('MCPServer');
    const byGroup = Map.groupBy(workloads, ({ spec }) => spec.groupRef);
    return new Map([...byGroup].map(([group, all]) => [group, all.map(({ name }) => name)]));
  }

  async #usersOf(group: string): Promise<string[]> {
    const workloads = (await this.#members()).get(group) ?? [];
    const servers = (await this.#resources.list('VirtualMCPServer')).filter(
      ({ spec }) => Grouped.safeParse(spec).data?.config.groupRef === group,
    );
    return [...workloads.map((name) => `workload ${name}`), ...servers.map(({ name }) => `VirtualMCPServer ${name}`)];
  }
}

const notFound = (name: string): Problem => new Problem('not_found', `there is no group "${name}"`);

function specOf(written: Record<string, unknown>, description: string | undefined): Record<string, unknown> {
  const rest = Object.fromEntries(Object.entries(written).filter(([field]) => field !== 'description'));
  return description === undefined || description === '' ? rest : { ...rest, description };
}

function render({ name, spec, createdAt }: StoredResource, members: Map<unknown, string[]>): WorkloadGroup {
  return {
    name,
    description: Description.safeParse(spec).data?.description ?? '',
    workloads: members.get(name) ?? [],
    ...(createdAt !== undefined && { created_at: createdAt }),
  };
}
