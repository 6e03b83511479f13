import { randomBytes } from 'node:crypto';
import { afterEach, expect, it } from '@jest/globals';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { serveProtected, type ProtectedServer } from '../fakes/remote-server/serve-protected.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { send } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { type Page, textOf } from '../robot/page.ts';
import { Robot } from '../robot/robot.ts';
import { arrange, type Arrangement } from './arrangement.ts';
import { callWhoami, toolNames, whoIs } from './call-tool.ts';
import { describeOnEachStorage, type StorageDocument } from './storages.ts';

type Backend = RunConfigDocument['backends'][number];

const ALICE = { user: 'alice' };
const BOB = { user: 'bob' };
const SEALING = randomBytes(32).toString('base64url');
const OWNER = { namespace: 'e2e', name: 'remote', uid: 'u' };

afterEach(closeAll);

const hasAction = (action: string) => (page: Page) => formOf(page, action) !== undefined;
const formOf = ({ forms }: Page, action: string) =>
  forms.find(({ fields }) => fields.some(({ name, value }) => name === 'action' && value === action));

/** Presses a button of the connections page. */
async function press(robot: Robot, page: Page, action: string): Promise<Page> {
  const form = formOf(page, action);
  if (form === undefined) throw new Error(`no way to ${action}: ${textOf(page)}`);
  return robot.submit(page, { form });
}

/** Two replicas of an endpoint with a login at a remote server. Its administrator is alice. */
class Setup {
  readonly issuer: IdentityProvider;
  readonly remote: ProtectedServer;
  readonly arrangement: Arrangement;
  readonly other: ServedGateway;

  static async open(storage: StorageDocument): Promise<Setup> {
    const issuer = closing(await serveIdentityProvider({ tokenLifetime: 3600 }));
    const remote = closing(await serveProtected({ issuer: issuer.issuer }));
    const login = (administrators: string[]): Backend => ({
      name: 'remote',
      transport: 'streamable-http',
      url: remote.url,
      auth: { type: 'remote_auth', storage, sealing_secret_files: ['sealing'], owner: OWNER, administrators },
    });
    const operational = { failure_handling: { health_check_interval: '1s' } };
    const config = (administrators: string[]) => ({ operational, backends: [login(administrators)] });
    const arrangement = closing(
      await arrange({ storage, replicas: 2, files: { sealing: SEALING }, config: config(['nobody']) }),
    );
    // An administrator finds the subject to configure in this way.
    const page = await connections(arrangement, new Robot(), ALICE);
    const [, subject = ''] = /Your subject here: <code>([\w-]{43})<\/code>/.exec(page.text) ?? [];
    await arrangement.restart(config([subject]));
    return new Setup({ issuer, remote, arrangement, other: await arrangement.replica(config([subject])) });
  }

  private constructor(parts: Pick<Setup, 'issuer' | 'remote' | 'arrangement' | 'other'>) {
    this.issuer = parts.issuer;
    this.remote = parts.remote;
    this.arrangement = parts.arrangement;
    this.other = parts.other;
  }

  async token(): Promise<string> {
    return (await (await this.arrangement.client()).login(BOB)).access_token;
  }

  async logIn(robot = new Robot()): Promise<Page> {
    const page = await connections(this.arrangement, robot, ALICE);
    return robot.walk(await press(robot, page, 'begin-login'), ALICE, { at: hasAction('end-login') });
  }

  async statusOf({ runtime }: ServedGateway): Promise<{ phase: string; message: string; login_url: string | null }> {
    const { text } = await send(`http://127.0.0.1:${runtime.address.privatePort}/status`, 'GET', {});
    const { backends } = JSON.parse(text) as {
      backends: { name: string; phase: string; message: string; login_url: string | null }[];
    };
    return backends.find(({ name }) => name === 'remote')!;
  }

  async ready(): Promise<void> {
    for (const gateway of [this.arrangement.gateway, this.other])
      await eventually(
        () => this.statusOf(gateway),
        ({ phase }) => phase === 'ready',
      );
  }
}

/** Returns the connections page, after signing in if needed. */
const connections = ({ origin }: Pick<Arrangement, 'origin'>, robot: Robot, person: { user: string }): Promise<Page> =>
  robot.walk(`${origin}/connections`, person, { at: hasAction('sign-out') });

describeOnEachStorage(
  'a login at a remote server by the connections page',
  (fixture) => {
    it('succeeds for an administrator, serves every caller at every replica, and renews once for all', async () => {
      const setup = await Setup.open(fixture().fresh());
      const { arrangement, other, remote, issuer } = setup;
      const missing = await eventually(
        () => setup.statusOf(other),
        ({ login_url: url }) => url !== null,
      );
      expect(missing).toMatchObject({ phase: 'degraded', login_url: `${arrangement.origin}/connections` });
      const page = await setup.logIn();
      expect([page.status, page.url.search]).toEqual([200, '?logged-in=remote']);
      expect(textOf(page)).toContain('You are logged in at remote.');
      await setup.ready();
      const token = await setup.token();
      for (const url of [arrangement.resource, other.url])
        expect(await whoIs(url, token, 'remote')).toMatchObject({ subject: 'alice', audience: [remote.url] });
      const asked = issuer.counts.get('token') ?? 0;
      remote.refuse(remote.tokens.at(-1));
      const urls = Array.from({ length: 12 }, (_, nr) => [arrangement.resource, other.url][nr % 2]!);
      for (const caller of await Promise.all(urls.map((url) => whoIs(url, token, 'remote'))))
        expect(caller).toMatchObject({ subject: 'alice' });
      expect(issuer.counts.get('token')).toBe(asked + 1);
      expect(await fixture().dump()).not.toContain(remote.tokens.at(-1));
    });

    it('ends after an administrator confirms, and then serves no caller', async () => {
      const setup = await Setup.open(fixture().fresh());
      const robot = new Robot();
      const done = await setup.logIn(robot);
      await setup.ready();
      const token = await setup.token();
      await whoIs(setup.other.url, token, 'remote');
      const urls = [setup.arrangement.resource, setup.other.url];
      for (const url of urls) expect(await toolNames(url, token)).toContain('remote_whoami');
      const question = await press(robot, done, 'end-login');
      expect(textOf(question)).toContain('End the login at remote?');
      expect((await callWhoami(setup.other.url, token, 'remote')).text).toContain('alice');
      const page = await press(robot, question, 'end-login');
      expect(textOf(page)).toContain('Needs a login');
      for (const url of urls) {
        await eventually(
          () => callWhoami(url, token, 'remote'),
          ({ text }) => text.includes('needs a login at its server'),
          15_000,
        );
        await expect(toolNames(url, token)).rejects.toThrow('No backend of this server answers');
      }
      expect((await setup.statusOf(setup.arrangement.gateway)).login_url).toBe(
        `${setup.arrangement.origin}/connections`,
      );
      const said = setup.arrangement.gateway.log();
      for (const type of ['auth_login_started', 'auth_login_completed', 'auth_token_revoked'])
        expect(said).toMatch(
          new RegExp(`"type":"${type}".*"subjects":{"user":"[^"]+".*"type":"remote_server","name":"remote"`),
        );
      expect(said).not.toContain(setup.remote.tokens.at(-1));
    });

    it('appears to administrators only, and refuses other users', async () => {
      const setup = await Setup.open(fixture().fresh());
      const { arrangement } = setup;
      const robot = new Robot();
      const page = await connections(arrangement, robot, BOB);
      expect([formOf(page, 'begin-login'), textOf(page)]).toEqual([
        undefined,
        expect.stringContaining('They are done by administrators.'),
      ]);
      expect(textOf(page)).not.toContain('remote');
      const form = formOf(page, 'sign-out')!;
      for (const action of ['begin-login', 'end-login'])
        for (const backend of ['remote', 'none']) {
          const fields = form.fields.map((field) => (field.name === 'action' ? { ...field, value: action } : field));
          const added = [...fields, { ...fields[0]!, name: 'backend', value: backend }];
          const told = await robot.submit(page, { form: { ...form, fields: added } });
          expect([action, told.status, textOf(told)]).toEqual([
            action,
            403,
            expect.stringContaining('This is for administrators'),
          ]);
        }
      const url = `${arrangement.origin}/connections/callback/remote?code=x&state=y`;
      expect((await robot.open(url)).status).toBe(403);
      expect((await new Robot().open(url)).status).toBe(403);
      expect(setup.issuer.counts.get('token')).toBeUndefined();
    });

    it('returns once to the browser that began it, and to no other', async () => {
      const setup = await Setup.open(fixture().fresh());
      const robot = new Robot();
      const isBack = (at: URL) => at.pathname === '/connections/callback/remote';
      const page = await connections(setup.arrangement, robot, ALICE);
      const form = formOf(page, 'begin-login')!;
      const begun = await robot.submit(page, { form }, { before: (at) => at.origin !== page.url.origin });
      expect([begun.status, begun.headers['referrer-policy']]).toEqual([303, 'no-referrer']);
      const { next: callback } = await robot.walk(begun, ALICE, { before: isBack });
      const elsewhere = new Robot();
      await connections(setup.arrangement, elsewhere, ALICE);
      const stolen = await elsewhere.open(callback!);
      expect([stolen.status, textOf(stolen)]).toEqual([400, expect.stringContaining('The login did not succeed')]);
      expect(setup.issuer.counts.get('token')).toBeUndefined();
      expect((await robot.open(callback!)).url.search).toBe('?logged-in=remote');
      // A reload gets the same answer, without a request to the provider.
      expect((await robot.open(callback!)).url.search).toBe('?logged-in=remote');
      expect(setup.issuer.counts.get('token')).toBe(1);
    });
  },
  ['redis'],
);
