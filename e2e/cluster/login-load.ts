import { setTimeout as pause } from 'node:timers/promises';
import { type OAuthClient, type Tokens, tokensOf } from '../authserver/oauth-client.ts';

/** Outcomes so far. */
export interface LoginLoad {
  readonly logins: number;
  readonly refreshes: number;
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

/** Milliseconds: a login has some ten requests, and the test providers keep the last thousand entries. */
const EVERY = { login: 500, refresh: 200 };

/** Repeats the login of a user in new browsers, and refreshes the tokens of one login at the same time. */
export function startLogins(client: OAuthClient, user: string, first: Tokens): LoginLoad {
  const done = { login: 0, refresh: 0 };
  const failures: string[] = [];
  const state = { running: true };
  let renewal = first.refresh_token;

  async function repeat(what: keyof typeof EVERY, act: () => Promise<void>): Promise<void> {
    while (state.running) {
      try {
        await act();
        done[what] += 1;
      } catch (error) {
        failures.push(`${what}: ${String(error)}`);
      }
      await pause(EVERY[what]);
    }
  }

  const running = [
    repeat('login', async () => {
      await client.login({ user });
    }),
    repeat('refresh', async () => {
      renewal = tokensOf(await client.refresh(renewal)).refresh_token;
    }),
  ];
  return {
    get logins() {
      return done.login;
    },
    get refreshes() {
      return done.refresh;
    },
    failures,
    async stop() {
      state.running = false;
      await Promise.all(running);
    },
  };
}
