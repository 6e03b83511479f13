import { hashId, newId } from '#runtime/authserver/ids';
import { REDIRECT, userNamed, type LoginEndpointServer } from '#runtime/authserver/testdata/login-endpoints';

/** A page of the server, and how to open it. */
export interface ShownPage {
  readonly name: string;
  /** First words of its heading. */
  readonly heading: string;
  readonly open: (server: LoginEndpointServer) => Promise<{ readonly url: string; readonly cookie?: string }>;
  /** Names of the buttons that lead to the page, in order. */
  readonly press?: readonly string[];
}

const ALICE = userNamed('alice');
const APP = 'cursor://anysphere/callback';
const WEB = `https://app.example.com/${'a-long-path-without-a-break/'.repeat(4)}callback`;

const signIn = (server: LoginEndpointServer) => server.logIn(ALICE, { okta: {}, github: { state: 'needs_login' } });

const consent =
  (changes: Readonly<Record<string, string>> = {}, name: string | undefined = 'Cursor', isSignedIn = false) =>
  async (server: LoginEndpointServer) => {
    const client = await server.register([REDIRECT, APP, WEB], name === '' ? {} : { client_name: name });
    return { url: server.authorizeUrl(client, changes), ...(isSignedIn && { cookie: await signIn(server) }) };
  };

const connections =
  (query = '') =>
  async (server: LoginEndpointServer) => ({ url: server.urls.connections + query, cookie: await signIn(server) });

const link = (isSignedIn: boolean) => async (server: LoginEndpointServer) => {
  const ticket = newId();
  await server.storage.put('ticket', hashId(ticket), { sub: ALICE.sub, provider: 'github' }, { lifespan: 600_000 });
  return { url: `${server.urls.link}?ticket=${ticket}`, ...(isSignedIn && { cookie: await signIn(server) }) };
};

/** All pages, in each of their forms. */
export const PAGES: readonly [ShownPage, ...ShownPage[]] = [
  { name: 'consent', heading: '“Cursor” wants', open: consent() },
  { name: 'consent of a user who is signed in', heading: '“Cursor” wants', open: consent({}, 'Cursor', true) },
  { name: 'consent for an app', heading: '“Cursor” wants', open: consent({ redirect_uri: APP }) },
  {
    name: 'consent for a site, without a name',
    heading: 'An application wants',
    open: consent({ redirect_uri: WEB }, ''),
  },
  { name: 'consent with a name that does not break', heading: '“WWW', open: consent({}, 'W'.repeat(100)) },
  { name: 'connections', heading: 'Your connections', open: connections() },
  { name: 'connections after a link', heading: 'Your connections', open: connections('?linked=okta') },
  { name: 'sign-in', heading: 'Sign in to see', open: (server) => Promise.resolve({ url: server.urls.connections }) },
  { name: 'question before unlinking', heading: 'Unlink okta?', open: connections(), press: ['Unlink okta'] },
  {
    name: 'question before signing out',
    heading: 'Sign out everywhere?',
    open: connections(),
    press: ['Sign out everywhere…'],
  },
  {
    name: 'signed out',
    heading: 'You are signed out everywhere',
    open: connections(),
    press: ['Sign out everywhere…', 'Sign out everywhere'],
  },
  { name: 'link', heading: 'Link your github account', open: link(true) },
  { name: 'link without a login', heading: 'Link your github account', open: link(false) },
  {
    name: 'error',
    heading: 'This application is not known',
    open: (server) => Promise.resolve({ url: server.authorizeUrl('forgotten') }),
  },
];
