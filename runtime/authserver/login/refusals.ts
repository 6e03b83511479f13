import { PageError } from '../page-error.ts';
import type { ChainSettings } from './chain-settings.ts';

/** The first link pins the account, so that a user never gets another person's tokens. */
export function otherAccount({ chain, urls }: Pick<ChainSettings, 'chain' | 'urls'>, provider: string): PageError {
  const host = chain.providers.find(({ name }) => name === provider)?.host ?? provider;
  return new PageError({
    status: 403,
    title: `This is another account at ${provider}`,
    text:
      `You signed in at ${host} with another account than the one that is linked for you. Nothing was changed. Sign out at ` +
      `${host}, then start again and sign in with the account that is linked. To use the other account, unlink ${provider} first: ` +
      urls.connections,
  });
}

/** Returns the page for a browser login that changed: the skipped steps belong to the former user. */
export function outdated(): PageError {
  return new PageError({
    status: 400,
    title: 'Somebody else is signed in now',
    text:
      'Since this sign-in began, somebody signed in or out with this browser. Nothing was changed. Start again from your ' +
      'application.',
  });
}

export function blocked(): PageError {
  return new PageError({
    status: 403,
    title: 'Your access is blocked',
    text: 'The administrator of this server has blocked your account. Nothing was changed. Ask the administrator.',
  });
}

export function otherUser(): PageError {
  return new PageError({
    status: 403,
    title: 'This link is for somebody else',
    text:
      'You signed in as another person than the one that the link was made for. Nothing was changed. If somebody sent you the ' +
      'link, close this page.',
  });
}

/** Returns the page for a primary provider that does not identify users: vmcp cannot compare the user with the earlier one. */
export function cannotRenew(provider: string): PageError {
  return new PageError({
    status: 403,
    title: 'Sign in again from your application',
    text: `${provider} does not say who signs in, so this sign-in cannot be added to an earlier one. Nothing was changed. Start again from your application.`,
  });
}
