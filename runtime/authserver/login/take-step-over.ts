import type { ChainSettings } from './chain-settings.ts';
import { cannotRenew, otherAccount, otherUser } from './refusals.ts';
import { accountOf, unnamedUser, userProfile } from './user-profile.ts';
import { pendingAad } from '../keys/aad.ts';
import type { LoginRow, UpstreamAccount } from '../storage/rows.ts';
import type { StepResult, UpstreamProvider } from '../upstream/provider.ts';
import { sealTokens } from '../upstream-tokens/stored-tokens.ts';

/** The primary provider identifies the user, regardless of the browser login. @throws PageError for an unexpected account or user */
export async function takeStepOver(
  settings: ChainSettings,
  login: LoginRow,
  { name }: UpstreamProvider,
  { tokens, identity }: StepResult,
): Promise<LoginRow> {
  const { secrets, place, now, chain } = settings;
  const account = identity && accountOf(identity);
  const sealed = sealTokens(secrets, tokens, now(), pendingAad(place, login.id, name));
  const links = { ...login.links, [name]: { account, sealed, expires_at: tokens.expires_at } };
  if (name !== chain.primary.name) {
    await checkPinned(settings, login, name, account);
    return { ...login, login_step: undefined, links };
  }
  if (identity === undefined && login.sub !== undefined) throw cannotRenew(name);
  const user = identity ? userProfile(identity) : unnamedUser(name);
  if (login.sub !== undefined && login.sub !== user.sub) throw otherUser();
  return { ...login, login_step: undefined, links, user };
}

/** Rejects another person's account before the next provider is visited. The end of the login would reject it too. */
async function checkPinned(
  settings: ChainSettings,
  login: LoginRow,
  provider: string,
  account: UpstreamAccount | undefined,
): Promise<void> {
  const sub = login.sub ?? login.user?.sub;
  const pinned = sub === undefined ? undefined : (await settings.storage.getLink(sub, provider))?.account;
  if (pinned !== undefined && pinned.subject !== account?.subject) throw otherAccount(settings, provider);
}
