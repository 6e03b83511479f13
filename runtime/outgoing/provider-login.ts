import { LoginNeeded, type UserToken, type UserTokens } from '#runtime/authserver/user-tokens';
import { ConfigError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { CredentialDeps } from './credential-deps.ts';
import type { CredentialHeaders, ProviderLogin } from './credential.ts';

export interface ProviderTokens extends ProviderLogin {
  get(identity: Identity): UserToken | Promise<UserToken>;
  made(headers: CredentialHeaders, accessToken: string): void;
  behind(headers: CredentialHeaders): string | undefined;
  readonly tokens: UserTokens;
}

/** `checkStored`: whether a token also serves this backend. @throws ConfigError if no authorization server stores tokens */
export function providerTokens(
  kind: string,
  provider: string,
  { backend, userTokens }: CredentialDeps,
  checkStored?: (identity: Identity, stored: UserToken) => Promise<unknown>,
): ProviderTokens {
  if (userTokens === undefined) {
    throw new ConfigError(
      `backend ${backend}: ${kind} needs the stored tokens of provider ${provider}, and there is no embedded authorization server`,
    );
  }
  const made = new WeakMap<CredentialHeaders, string>();
  return {
    provider,
    tokens: userTokens,
    get: (identity) => userTokens.get(identity, provider),
    made: (headers, accessToken) => void made.set(headers, accessToken),
    behind: (headers) => made.get(headers),
    async isReady(identity) {
      try {
        const stored = await userTokens.get(identity, provider);
        await checkStored?.(identity, stored);
        return true;
      } catch (error) {
        if (error instanceof LoginNeeded) return false;
        throw error;
      }
    },
    linkUrl: (identity) => userTokens.linkUrl(identity, provider),
    refused(identity, headers) {
      const accessToken = made.get(headers);
      if (accessToken !== undefined) userTokens.barred(identity, provider, accessToken);
      return new LoginNeeded(provider);
    },
  };
}
