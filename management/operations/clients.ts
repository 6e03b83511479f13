import { z } from 'zod';
import { isOn } from '../flag.ts';
import { Nothing, operation, PLAIN, type Permission } from '../operation.ts';
import { ClientInPath, ClientList, Forced, NewClient, NewClients, RegisteredClient } from '../records/client.ts';

const client = (verb: Permission['verb'], name: string): Permission => ({ verb, resource: 'clients', name });

/** Requires `update` too, as a registered client gets new groups; and both lists, as the answer reveals endpoints. */
const registering = (names: readonly string[]): Permission[] => [
  ...names.flatMap((name): Permission[] => [client('create', name), client('update', name)]),
  { verb: 'list', resource: 'mcpgroups' },
  { verb: 'list', resource: 'virtualmcpservers' },
];

const PROBLEMS = {
  conflict: 'the client’s file cannot be read, is not this user’s, or has an entry of that name that is not of vmcp',
  store_damaged: 'what is stored of the client is damaged',
  stale: 'somebody else registered the client at the same time',
} as const;

const registerClient = operation({
  ...PLAIN,
  number: 1,
  id: 'registerClient',
  method: 'POST',
  path: '/clients',
  summary: 'Register a client',
  query: Forced,
  body: NewClient,
  result: RegisteredClient,
  problems: PROBLEMS,
  first: () => ({ verb: 'list', resource: 'mcpgroups' }),
  permissions: ({ body: { name } }) => registering([name]),
  audit: 'management_client_registered',
  async run({ body: { name, groups }, query: { force } }, { clients }) {
    const [body] = await clients.register([name], groups, isOn(force));
    if (!body) throw new Error('a client was registered and not told');
    return { body };
  },
});

export const registerClients = operation({
  ...PLAIN,
  number: 2,
  id: 'registerClients',
  method: 'POST',
  path: '/clients/register',
  summary: 'Register several clients',
  query: Forced,
  body: NewClients,
  result: z.array(RegisteredClient),
  problems: PROBLEMS,
  first: () => ({ verb: 'list', resource: 'mcpgroups' }),
  permissions: ({ body: { names } }) => registering(names),
  audit: 'management_clients_registered',
  async run({ body: { names, groups }, query: { force } }, { clients }) {
    return { body: await clients.register(names, groups, isOn(force)) };
  },
});

export const listClients = operation({
  ...PLAIN,
  id: 'listClients',
  method: 'GET',
  path: '/clients',
  summary: 'List registered clients',
  result: ClientList,
  problems: { store_damaged: PROBLEMS.store_damaged },
  permissions: () => [{ verb: 'list', resource: 'clients' }],
  run: async (_, { clients }) => ({ body: { clients: await clients.list() } }),
});

export const deleteClient = operation({
  ...PLAIN,
  id: 'deleteClient',
  method: 'DELETE',
  path: '/clients/{name}',
  summary: 'Forget a client, and take out of its file what vmcp wrote',
  params: ClientInPath,
  success: 204,
  result: Nothing,
  problems: { not_found: 'no client of this name is registered', ...PROBLEMS },
  permissions: ({ params: { name } }) => [client('delete', name)],
  audit: 'management_client_deleted',
  async run({ params: { name } }, { clients }) {
    await clients.delete(name);
    return { body: undefined };
  },
});

export const clientOperations = [registerClient, registerClients, listClients, deleteClient];
