import { createEmulator } from 'emulate';

/** Where the look-alikes listen, and where vmcp waits for the users who come back from them. */
export interface LookAlikeOptions {
  ports: { github: number; google: number; slack: number };
  /** Origin of the authorization server. */
  issuer: string;
}

/** To the look-alikes a token that they do not know stands for their first user, where the real ones answer 401. */
const USERS = [
  { name: 'nobody', full: 'Nobody' },
  { name: 'alice', full: 'Alice Example' },
  { name: 'bob', full: 'Bob Example' },
];

function github(redirectUri: string) {
  return {
    users: USERS.map(({ name, full }) => ({ login: name, name: full, email: `${name}@example.test` })),
    oauth_apps: [
      {
        client_id: 'vmcp-github',
        client_secret: 'github-loopback-secret',
        name: 'vmcp',
        redirect_uris: [redirectUri],
      },
    ],
  };
}

function google() {
  // Without clients of its own, as it then takes those that authenticate by HTTP Basic too, which the real one allows.
  return { users: USERS.map(({ name, full }) => ({ email: `${name}@example.test`, name: full })) };
}

function slack(redirectUri: string) {
  return {
    team: { name: 'Example', domain: 'example' },
    users: USERS.map(({ name, full }) => ({ name, real_name: full, email: `${name}@example.test` })),
    oauth_apps: [
      {
        client_id: 'vmcp-slack',
        client_secret: 'slack-loopback-secret',
        app_id: 'A000000001',
        name: 'vmcp',
        redirect_uris: [redirectUri],
        scopes: ['chat:write'],
        user_scopes: ['users:read', 'users:read.email'],
      },
    ],
  };
}

/** Starts the three on loopback; nothing that they know is stored. Returns the function that ends them. */
export async function startLookAlikes({ ports, issuer }: LookAlikeOptions): Promise<() => Promise<void>> {
  const callback = (name: string): string => `${issuer}/oauth/callback/${name}`;
  const seed = { github: github(callback('github')), google: google(), slack: slack(callback('slack')) };
  const started = await Promise.all(
    (['github', 'google', 'slack'] as const).map((service) => {
      const port = ports[service];
      return createEmulator({ service, port, seed, baseUrl: `http://127.0.0.1:${port}` });
    }),
  );
  return async () => {
    await Promise.all(started.map((one) => one.close()));
  };
}
