import { z } from 'zod';
import { type Input, operation, PLAIN, type Permission } from '../operation.ts';
import { NEXT_CURSOR, pageOf, PAGING } from '../paging.ts';
import { Problem } from '../problem.ts';
import { Registry, RegistryInfo } from '../records/registry.ts';
import { ImageServer, RemoteServer } from '../records/registry-entry.ts';
import { CLUSTER, DEFAULT } from '../registries/registries.ts';
import { RegistrySettings, secretOf } from '../registries/registry-settings.ts';
import { remoteServersOf, serversOf } from '../registries/render-registry.ts';

const RegistryInPath = z.strictObject({ name: z.string().min(1).max(253).describe('Name of the registry.') });
const ServerInPath = z.strictObject({
  ...RegistryInPath.shape,
  serverName: z.string().min(1).max(512).describe('Name of the server, URL-encoded.'),
});

const NOT_FOUND = { not_found: 'there is no registry of this name' } as const;
const NO_COPY = { unavailable: 'the source cannot be read, and there is no copy of it' } as const;
const DAMAGED = { store_damaged: 'the settings of the registry cannot be read' } as const;

const registry = (verb: Permission['verb'], name: string): Permission => ({ verb, resource: 'registries', name });
const readRegistry = ({ params: { name } }: Input<z.infer<typeof RegistryInPath>, unknown, unknown>): Permission[] => [
  registry('get', name),
  // The cluster registry lists objects of the cluster, so it requires permission to list them.
  ...(name === CLUSTER ? [{ verb: 'list', resource: 'mcpservers' } as const] : []),
];

export const listRegistries = operation({
  ...PLAIN,
  number: 5,
  id: 'listRegistries',
  method: 'GET',
  path: '/registry',
  summary: 'List the registries',
  result: z.strictObject({ registries: z.array(RegistryInfo).describe('The default one first.') }),
  problems: DAMAGED,
  permissions: () => [{ verb: 'list', resource: 'registries' }],
  run: async (_, { registries }) => ({ body: { registries: await registries.list() } }),
});

const getRegistry = operation({
  ...PLAIN,
  number: 3,
  id: 'getRegistry',
  method: 'GET',
  path: '/registry/{name}',
  summary: 'Get a registry with all that is in it',
  params: RegistryInPath,
  result: Registry,
  givesTag: true,
  tagsAll: true,
  problems: { ...NOT_FOUND, ...NO_COPY, ...DAMAGED },
  permissions: readRegistry,
  async run({ params: { name } }, { registries }) {
    const { registry: body, version, json } = await registries.get(name);
    return { body, ...(version !== undefined && { etag: version }), ...(json && { json }) };
  },
});

const ServerList = z.strictObject({
  servers: z.array(ImageServer).describe('Image servers by name, those of groups too.'),
  remote_servers: z.array(RemoteServer).describe('Remote servers by name, those of groups too.'),
  next_cursor: NEXT_CURSOR,
});

export const listRegistryServers = operation({
  ...PLAIN,
  number: 6,
  id: 'listRegistryServers',
  method: 'GET',
  path: '/registry/{name}/servers',
  summary: 'List the servers in a registry',
  params: RegistryInPath,
  query: z.strictObject({
    search: z
      .string()
      .max(256)
      .optional()
      .describe('Words that name, title, description or tags must have, all of them.'),
    ...PAGING,
  }),
  result: ServerList,
  problems: { ...NOT_FOUND, ...NO_COPY, ...DAMAGED },
  permissions: readRegistry,
  async run({ params: { name }, query: { search = '', ...paging } }, { registries }) {
    const { registry: content } = (await registries.get(name)).registry;
    const all = [
      ...[...serversOf(content)].map(([key, server]) => ({ key: `${key} 0`, server, remote: undefined })),
      ...[...remoteServersOf(content)].map(([key, remote]) => ({ key: `${key} 1`, server: undefined, remote })),
    ].sort((a, b) => (a.key < b.key ? -1 : 1));
    const found = all.filter(({ server, remote }) => matches(server ?? remote, search));
    const { items, next } = pageOf(found, ({ key }) => key, paging);
    return {
      body: {
        servers: items.flatMap(({ server }) => server ?? []),
        remote_servers: items.flatMap(({ remote }) => remote ?? []),
        ...(next !== undefined && { next_cursor: next }),
      },
    };
  },
});

export const getRegistryServer = operation({
  ...PLAIN,
  number: 4,
  id: 'getRegistryServer',
  method: 'GET',
  path: '/registry/{name}/servers/{serverName}',
  summary: 'Get a server from a registry',
  params: ServerInPath,
  result: z.strictObject({
    is_remote: z.boolean().describe('There is a remote server of this name, and no image.'),
    server: ImageServer.optional(),
    remote_server: RemoteServer.optional(),
  }),
  problems: { not_found: 'there is no registry, or no server in it, of this name', ...NO_COPY, ...DAMAGED },
  permissions: readRegistry,
  async run({ params: { name, serverName } }, { registries }) {
    const { registry: content } = (await registries.get(name)).registry;
    const server = serversOf(content).get(serverName);
    const remote = remoteServersOf(content).get(serverName);
    if (server === undefined && remote === undefined)
      throw new Problem('not_found', `there is no server "${serverName}" in the registry "${name}"`);
    return {
      body: {
        is_remote: server === undefined,
        ...(server && { server }),
        ...(remote && { remote_server: remote }),
      },
    };
  },
});

export const updateRegistry = operation({
  ...PLAIN,
  number: 7,
  id: 'updateRegistry',
  method: 'PUT',
  path: '/registry/{name}',
  summary: 'Read the default registry from somewhere else, or from what vmcp brings along',
  params: RegistryInPath,
  body: RegistrySettings,
  result: z.strictObject({
    ...RegistryInfo.shape,
    login: z
      .strictObject({
        verification_uri: z.string().describe('Page to open, on any device.'),
        user_code: z.string().describe('What to enter there.'),
        expires_at: z.string().describe('Until when, RFC 3339.'),
      })
      .optional()
      .describe('What a person has to do before the registry can be read.'),
  }),
  givesTag: true,
  takesTag: true,
  problems: {
    not_found: `another name than \`${DEFAULT}\``,
    path_not_available: 'local_path in a cluster',
    private_address_refused: 'allow_private_ip where the administrator of the operator does not allow it',
    ...DAMAGED,
    upstream_failed: 'the registry or its issuer cannot be reached, or answers something else',
    upstream_timeout: 'the registry or its issuer does not answer in time',
  },
  first: ({ name }) => registry('update', name),
  permissions: ({ params: { name }, body: { auth } }) => [
    registry('update', name),
    ...(auth?.client_secret_ref === undefined
      ? []
      : [{ verb: 'get', group: '', resource: 'secrets', name: secretOf(auth.client_secret_ref).name } as const]),
  ],
  audit: 'management_registry_updated',
  async run({ params: { name }, body, ifMatch }, { registries }) {
    const { info, login, version } = await registries.configure(name, body, ifMatch);
    return { body: { ...info, ...(login && { login }) }, etag: version };
  },
});

function matches(entry: ImageServer | RemoteServer | undefined, search: string): boolean {
  const { name = '', title = '', description = '', tags = [] } = entry ?? {};
  const text = [name, title, description, ...tags].join('\n').toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export const registryOperations = [listRegistries, getRegistry, listRegistryServers, getRegistryServer, updateRegistry];
