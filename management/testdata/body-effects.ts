import { FILE } from '../registries/testdata/serve-registry.ts';
import { skillText } from '../skills/testdata/skills-fixture.ts';
import { type BodyFixture, type Effect, PASSWORD } from './body-fixture.ts';

type Observe = Effect['observe'];
/** Without a served endpoint a client's file has no entry. */
const clientsListed: Observe = async ({ call, installed }) => [(await call('listClients', {})).body, installed()];

const CLIENTS: Record<string, Effect> = {
  'registerClient name': {
    bodies: () => [{ name: 'cursor' }, { name: 'zed' }],
    observe: clientsListed,
  },
  'registerClient groups.*': {
    before: ({ call }) => call('createGroup', { body: { name: 'dev' } }),
    bodies: () => [
      { name: 'cursor', groups: ['tools'] },
      { name: 'cursor', groups: ['dev'] },
    ],
    observe: readersOfGroup,
  },
  'registerClients names.*': {
    bodies: () => [{ names: ['cursor'] }, { names: ['zed'] }],
    observe: clientsListed,
  },
  'registerClients groups.*': {
    before: ({ call }) => call('createGroup', { body: { name: 'dev' } }),
    bodies: () => [
      { names: ['cursor'], groups: ['tools'] },
      { names: ['cursor'], groups: ['dev'] },
    ],
    observe: readersOfGroup,
  },
};

/** Skills of a group are written for the clients of that group. */
async function readersOfGroup(fixture: BodyFixture): Promise<unknown> {
  await fixture.call('registerClient', { body: { name: 'goose' } });
  const name = fixture.write('notes', { 'SKILL.md': skillText('notes') });
  await fixture.install({ name, group: 'tools' });
  return fixture.installed();
}

const SETUP = { provider_type: 'encrypted', password: PASSWORD };
const encrypted = ({ call }: BodyFixture) => call('setUpSecrets', { body: SETUP });
const stored: Observe = ({ secret }) => Promise.all([secret('A'), secret('B')]);

const SECRETS: Record<string, Effect> = {
  'setUpSecrets provider_type': {
    bodies: () => [{ provider_type: 'encrypted' }, { provider_type: 'environment' }],
    observe: async ({ call }) => (await call('createSecret', { body: { key: 'A', value: 'a' } })).status,
  },
  'setUpSecrets password': {
    before: async (fixture) => {
      await encrypted(fixture);
      await fixture.call('createSecret', { body: { key: 'A', value: 'a' } });
    },
    bodies: () => [SETUP, { ...SETUP, password: 'battery staple' }],
    observe: stored,
  },
  'createSecret key': {
    before: encrypted,
    bodies: () => [
      { key: 'A', value: 'a' },
      { key: 'B', value: 'a' },
    ],
    observe: stored,
  },
  'createSecret value': {
    before: encrypted,
    bodies: () => [
      { key: 'A', value: 'a' },
      { key: 'A', value: 'b' },
    ],
    observe: stored,
  },
  'updateSecret value': {
    before: async (fixture) => {
      await encrypted(fixture);
      await fixture.call('createSecret', { body: { key: 'A', value: 'a' } });
    },
    params: { key: 'A' },
    bodies: () => [{ value: 'a' }, { value: 'b' }],
    observe: stored,
  },
};

const AUTH = { client_id: 'vmcp', client_secret_ref: 'vmcp-secrets/A' };
const registry: Observe = async ({ call, requests }, { status }) => {
  const { body } = await call('getRegistry', { params: { name: 'default' } });
  return [status, requests, (body as { version?: string }).version];
};

const settings = (bodies: Effect['bodies']): Effect => ({ params: { name: 'default' }, bodies, observe: registry });

/** Two settings of a registry behind a login, which differ in `auth` alone. */
const login = (auth: (source: string) => readonly [object, object]): Effect => ({
  ...settings(({ source }) => {
    const [one, other] = auth(source).map((more) => ({
      ...{ url: `${source}/one.json`, allow_private_ip: true },
      auth: { issuer: `${source}/issuer`, ...AUTH, ...more },
    }));
    return [one ?? {}, other ?? {}];
  }),
  async before(fixture) {
    await encrypted(fixture);
    await fixture.call('createSecret', { body: { key: 'A', value: 'a' } });
    await fixture.call('createSecret', { body: { key: 'B', value: 'b' } });
  },
});

const PRIVATE = { allow_private_ip: true };

const REGISTRIES: Record<string, Effect> = {
  'updateRegistry url': settings(({ source }) => [
    { ...PRIVATE, url: `${source}/one.json` },
    { ...PRIVATE, url: `${source}/two.json` },
  ]),
  'updateRegistry api_url': settings(({ source }) => [
    { ...PRIVATE, api_url: `${source}/one` },
    { ...PRIVATE, api_url: `${source}/two` },
  ]),
  'updateRegistry local_path': settings((fixture) => [
    { local_path: `${fixture.write('one', { 'one.json': JSON.stringify(FILE) })}/one.json` },
    { local_path: `${fixture.write('two', { 'two.json': JSON.stringify({ ...FILE, version: '2' }) })}/two.json` },
  ]),
  'updateRegistry allow_private_ip': settings(({ source }) => [
    { url: `${source}/one.json`, allow_private_ip: true },
    { url: `${source}/one.json`, allow_private_ip: false },
  ]),
  'updateRegistry auth.issuer': login((source) => [{}, { issuer: `${source}/other` }]),
  'updateRegistry auth.client_id': login(() => [{}, { client_id: 'other' }]),
  'updateRegistry auth.client_secret_ref': login(() => [{}, { client_secret_ref: 'vmcp-secrets/B' }]),
  'updateRegistry auth.audience': login(() => [{ audience: 'one' }, { audience: 'other' }]),
  'updateRegistry auth.scopes.*': login(() => [{ scopes: ['one'] }, { scopes: ['other'] }]),
};

/** Maps operation and field to the test of its effect. */
export const SETTING_EFFECTS: Readonly<Record<string, Effect>> = { ...CLIENTS, ...SECRETS, ...REGISTRIES };
