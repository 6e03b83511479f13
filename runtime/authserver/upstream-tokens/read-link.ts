import { RequestError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import { UnknownSecret, type SecretRing } from '#runtime/keys/secret-ring';
import { newKeysMayArrive } from '#runtime/keys/key-rotation';
import { linkAad, type ServerIdentity } from '../keys/aad.ts';
import { StorageUnavailable, type AuthStorage } from '../storage/storage.ts';
import { LoginNeeded } from '../user-tokens.ts';
import { openLink, sealTokens, type OpenLink } from './stored-tokens.ts';

export interface LinkDeps {
  readonly storage: AuthStorage;
  readonly secrets: SecretRing;
  readonly place: ServerIdentity;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
}

/** Seals tokens under an older secret again. @throws LoginNeeded, StorageUnavailable, RequestError 503 while a replica may know it */
export async function readLink(deps: LinkDeps, sub: string, provider: string): Promise<OpenLink> {
  const { storage, secrets, place } = deps;
  const row = await storage.getLink(sub, provider);
  if (row?.state !== 'linked') throw new LoginNeeded(provider);
  const aad = linkAad(place, sub, provider);
  let link: OpenLink;
  try {
    link = openLink(secrets, row, aad);
  } catch (cause) {
    throw unreadable(deps, provider, cause);
  }
  if (link.isStale) await sealAnew(deps, sub, provider, link, aad);
  return link;
}

/** Seals a link again. A faster writer has sealed or renewed it already. */
async function sealAnew(
  { storage, secrets }: LinkDeps,
  sub: string,
  provider: string,
  { row, tokens, obtainedAt }: OpenLink,
  aad: string,
): Promise<void> {
  try {
    const sealed = sealTokens(secrets, tokens, obtainedAt, aad);
    await storage.replaceLink(sub, provider, row.version, { ...row, sealed });
  } catch (error) {
    // The link stays readable; the next reader tries again.
    if (!(error instanceof StorageUnavailable)) throw error;
  }
}

function unreadable({ secrets, storage, now, log }: LinkDeps, provider: string, cause: unknown): RequestError {
  if (cause instanceof UnknownSecret && newKeysMayArrive(secrets, storage, now())) {
    return new RequestError(
      { status: 503, code: 'secret_unknown', text: 'Not available yet: try again soon', rpc: { code: -32603 } },
      { cause },
    );
  }
  log.warn('stored tokens cannot be opened: their user has to log in at the provider again', {
    provider,
    error: cause,
  });
  return new LoginNeeded(provider, { cause });
}
