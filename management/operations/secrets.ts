import { STORED_SECRET } from '#crds/parts/defaults';
import { Nothing, operation, PLAIN, type Permission } from '../operation.ts';
import { pageOf } from '../paging.ts';
import {
  ChangedSecret,
  NewSecret,
  SecretDone,
  SecretInPath,
  SecretKeys,
  SecretPage,
  SecretsSetup,
  SecretsSetUp,
} from '../records/secret.ts';

const KEYS = '/secrets/default/keys';

const provider = (verb: Permission['verb']): Permission => ({ verb, resource: 'secretproviders', name: 'default' });
const stored = (verb: 'create' | 'update'): Permission => ({
  verb,
  group: '',
  resource: 'secrets',
  name: STORED_SECRET,
});
/** Requires permission for the Kubernetes Secret too, so that the API does not bypass the RBAC of the cluster. */
const write = (verb: 'create' | 'update' | 'delete'): Permission[] => [
  provider('update'),
  stored(verb === 'delete' ? 'update' : verb),
];

const BROKEN = {
  store_damaged: 'the file of the secrets is damaged',
  secrets_locked: 'the password of the encrypted secrets is not known here, or it is another one',
} as const;
const READ_ONLY = { provider_read_only: 'the provider is neither encrypted nor kubernetes' } as const;
const CONFLICT = `a Secret "${STORED_SECRET}" is there that is not of this API`;

const OF_KEY = {
  not_found: 'there is no secret of this key, or no secrets provider',
  ...READ_ONLY,
  conflict: CONFLICT,
  ...BROKEN,
} as const;

const done = (key: string, what: string) => ({
  body: { key, message: `secret "${key}" is ${what}; resources name it ${STORED_SECRET}/${key}` },
});

export const setUpSecrets = operation({
  ...PLAIN,
  number: 9,
  id: 'setUpSecrets',
  method: 'POST',
  path: '/secrets',
  summary: 'Set up or reconfigure the secrets provider',
  body: SecretsSetup,
  success: 201,
  result: SecretsSetUp,
  problems: {
    unsupported_provider: 'this provider is not available here',
    store_damaged: BROKEN.store_damaged,
    secrets_locked: 'the file with the password cannot be read',
  },
  first: () => provider('update'),
  permissions: () => [provider('update')],
  audit: 'management_secrets_provider_set_up',
  async run({ body: { provider_type, password } }, { secrets }) {
    const { type, message } = await secrets.setUp(provider_type, password);
    return { body: { provider_type: type, message } };
  },
});

export const listSecrets = operation({
  ...PLAIN,
  id: 'listSecrets',
  method: 'GET',
  path: KEYS,
  summary: 'List the keys of the secrets',
  query: SecretPage,
  result: SecretKeys,
  problems: { not_found: 'no secrets provider is set up', ...BROKEN, conflict: CONFLICT },
  permissions: () => [provider('get')],
  async run({ query }, { secrets }) {
    const { type, keys } = await secrets.list();
    const { items, next } = pageOf(keys, (key) => key, query);
    return { body: { provider_type: type, keys: items.map((key) => ({ key })), next_cursor: next } };
  },
});

export const createSecret = operation({
  ...PLAIN,
  number: 8,
  id: 'createSecret',
  method: 'POST',
  path: KEYS,
  summary: 'Create a secret',
  body: NewSecret,
  success: 201,
  result: SecretDone,
  problems: {
    not_found: 'no secrets provider is set up',
    ...READ_ONLY,
    already_exists: 'there is a secret of this key',
    conflict: CONFLICT,
    ...BROKEN,
  },
  first: () => provider('update'),
  permissions: () => write('create'),
  audit: 'management_secret_created',
  async run({ body: { key, value }, caller }, { secrets }) {
    // The first key creates the Kubernetes Secret; each later key updates it.
    await secrets.create(key, value, () => caller.check(stored('update')));
    return done(key, 'stored');
  },
});

export const updateSecret = operation({
  ...PLAIN,
  number: 10,
  id: 'updateSecret',
  method: 'PUT',
  path: `${KEYS}/{key}`,
  summary: 'Update a secret',
  params: SecretInPath,
  body: ChangedSecret,
  result: SecretDone,
  problems: OF_KEY,
  first: () => provider('update'),
  permissions: () => write('update'),
  audit: 'management_secret_updated',
  async run({ params: { key }, body: { value } }, { secrets }) {
    await secrets.replace(key, value);
    return done(key, 'changed');
  },
});

export const deleteSecret = operation({
  ...PLAIN,
  id: 'deleteSecret',
  method: 'DELETE',
  path: `${KEYS}/{key}`,
  summary: 'Delete a secret',
  params: SecretInPath,
  success: 204,
  result: Nothing,
  problems: OF_KEY,
  permissions: () => write('delete'),
  audit: 'management_secret_deleted',
  async run({ params: { key } }, { secrets }) {
    await secrets.delete(key);
    return { body: undefined };
  },
});

export const secretOperations = [setUpSecrets, listSecrets, createSecret, updateSecret, deleteSecret];
