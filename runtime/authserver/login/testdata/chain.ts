import { isRedirectOf, type Robot, type Stop } from '../../../../e2e/robot/robot.ts';
import type { Page } from '../../../../e2e/robot/page.ts';
import type { Person } from '../../../../e2e/robot/person.ts';
import type { OAuthProviderOptions } from '../../../../e2e/fakes/oauth-provider/options.ts';
import { serveOAuthProvider, type OAuthProvider } from '../../../../e2e/fakes/oauth-provider/serve.ts';
import { hashId } from '../../ids.ts';
import { startLoginServer, type Link, type LoginServer } from './login-server.ts';

export interface ChainOf {
  readonly server: LoginServer;
  readonly fakes: readonly OAuthProvider[];
  /** A login of this person from a client's URL to where it ends: back at the client, or at a page. */
  readonly walk: (robot: Robot, person: Person, options?: Walk) => Promise<Page>;
  /** The same, up to the redirect to the callback of a provider, which is not followed. */
  readonly until: (robot: Robot, person: Person, provider: string) => Promise<Page>;
  /** Goes on from a page. */
  readonly goOn: (robot: Robot, page: Page, person: Person, stop?: Stop) => Promise<Page>;
}

interface Walk {
  readonly url?: string;
  readonly stop?: Stop;
}

type Member = Partial<Omit<Link, 'fake'>> & { readonly fake?: OAuthProviderOptions };

const opened: { close(): Promise<void> }[] = [];

/** To be called after each test. */
export async function closeAll(): Promise<void> {
  for (const one of opened.splice(0).reverse()) await one.close();
}

/** Providers `one`, `two`, `three` … in a chain: the first speaks OpenID Connect unless it says otherwise. */
export async function startChain(
  members: readonly Member[],
  options: Parameters<typeof startLoginServer>[1] = {},
): Promise<ChainOf> {
  const fakes: OAuthProvider[] = [];
  const links: Link[] = [];
  for (const [index, { fake: how, ...link }] of members.entries()) {
    const fake = await serveOAuthProvider({ oidc: index === 0, ...how });
    opened.push(fake);
    fakes.push(fake);
    links.push({ name: NAMES[index] ?? '', fake, ...link });
  }
  const server = await startLoginServer(links, options);
  opened.push(server);
  const atClient = isRedirectOf(server.authorizeUrl());
  const until = (provider: string) => {
    const { pathname } = new URL(server.callbackOf(provider));
    return (url: URL) => url.pathname === pathname;
  };
  return {
    server,
    fakes,
    walk: (robot, person, { url = server.authorizeUrl(), stop = {} } = {}) =>
      robot.walk(url, person, { before: atClient, ...stop }),
    until: (robot, person, provider) => robot.walk(server.authorizeUrl(), person, { before: until(provider) }),
    goOn: (robot, page, person, stop = {}) => robot.walk(page, person, { before: atClient, ...stop }),
  };
}

const NAMES = ['one', 'two', 'three'];

/** The redirect back to the client; a test fails where there is none. */
export function backAtClient(page: Page): URL {
  if (page.next === undefined) throw new Error(`ended with ${page.status}: ${page.text.replaceAll(/<[^>]*>/g, ' ')}`);
  return page.next;
}

/** Who somebody is here whom the primary provider calls so. */
export const subAt = (issuer: string, subject: string): string => hashId(JSON.stringify([issuer, subject]));

/** Times that a provider's own pages were asked for. */
export const visits = (fake: OAuthProvider): number =>
  fake.of('/authorize').filter(({ method }) => method === 'GET').length;
