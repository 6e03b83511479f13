import { LONGEST_ASSERTION_HOURS } from '#crds/parts/defaults';
import { LEEWAY_SECONDS } from '#runtime/incoming/verify-jwt';
import { hashId } from '../ids.ts';
import type { SessionRow } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { OAuthError } from '../errors.ts';

/** Milliseconds after which no assertion that was issued before can be valid. */
const LONGEST = (LONGEST_ASSERTION_HOURS * 3_600 + 2 * LEEWAY_SECONDS) * 1_000;

type Shared = Pick<SessionRow, 'sub' | 'client_id' | 'resource'>;

/** Returns the slot of the session that the redemptions of a user, client and resource share. */
export function slotOf({ sub, client_id, resource }: Shared): string {
  return hashId(JSON.stringify(['assertion', sub, client_id, resource]));
}

/**
 * Refuses assertions that were issued up to now. `id`: a user, for all clients, or a slot. The caller ends the sessions afterwards, so that
 * no redemption comes between. @throws OAuthError 503 when the storage is full
 */
export async function revokeAssertions(
  { storage, now }: { readonly storage: Pick<AuthStorage, 'put'>; readonly now: () => number },
  id: string,
): Promise<void> {
  if (await storage.put('revocation', id, { not_before: now() }, { lifespan: LONGEST })) return;
  throw new OAuthError('temporarily_unavailable', 'No more revocations can be stored at the moment');
}
