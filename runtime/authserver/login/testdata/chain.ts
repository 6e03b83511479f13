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
  /** Logs a person in from the client's URL to the end: back at the client, or at a page. */
  readonly walk: (robot: Robot, person: Person, options?: Walk) => Promise<Page>;
  /** Logs a person in up to the redirect to a provider's callback, which is not followed. */
  readonly until: (robot: Robot, person: Person, provider: string) => Promise<Page>;
  /** Continues from a page. */
  readonly goOn: (robot: Robot, page: Page, person: Person, stop?: Stop) => Promise<Page>;
}

interface Walk {
  readonly url?: string;
  readonly stop?: Stop;
}

type Member = Partial<Omit<Link, 'fake'>> & { readonly fake?: OAuthProviderOptions };

const opened: { close(): Promise<void> }[] = [];

/** Closes all servers. Call it after each test. */
export async function closeAll(): Promise<void> {
  for (const one of opened.splice(0).reverse()) await one.close();
}

/** Starts a chain of providers `one`, `two`, `three` …. The first one uses OpenID Connect by default. */
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

/** Returns the redirect to the client. Throws when there is none. */
export function backAtClient(page: Page): URL {
  if (page.next === undefined) throw new Error(`ended with ${page.status}: ${page.text.replaceAll(/<[^>]*>/g, ' ')}`);
  return page.next;
}

/** Returns the user id for a subject of the primary provider. */
export const subAt = (issuer: string, subject: string): string => hashId(JSON.stringify([issuer, subject]));

/** Returns how often a provider's own pages were requested. */
export const visits = (fake: OAuthProvider): number =>
  fake.of('/authorize').filter(({ method }) => method === 'GET').length;
