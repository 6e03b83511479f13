import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredOAuthClientInformation } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { openState, type StateFolder } from '#local/state-folder';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

/** A client as it registered once at an endpoint's authorization server: so that it need not register each time. */
const KeptClient = z.object({
  /** A server may take no other one: with another port the client registers anew. */
  redirectUrl: z.url(),
  client: z.custom<StoredOAuthClientInformation>(
    (value) => z.object({ client_id: z.string() }).safeParse(value).success,
  ),
});
type KeptClient = z.infer<typeof KeptClient>;

/** Its name does not tell the endpoint. */
function fileOf(state: StateFolder, endpoint: string): string {
  return join(state.clients, `${createHash('sha256').update(endpoint).digest('hex').slice(0, 32)}.json`);
}

/** Undefined: there is none, or it cannot be read. */
export function readClient(state: StateFolder, endpoint: string): KeptClient | undefined {
  try {
    return KeptClient.parse(JSON.parse(readIfThere(fileOf(state, endpoint)) ?? ''));
  } catch {
    return undefined;
  }
}

export function keepClient(state: StateFolder, endpoint: string, kept: KeptClient): void {
  openState(state);
  mkdirSync(state.clients, { recursive: true, mode: 0o700 });
  writeFileAtomic(fileOf(state, endpoint), JSON.stringify(kept));
}

export function forgetClient(state: StateFolder, endpoint: string): void {
  rmSync(fileOf(state, endpoint), { force: true });
}

/** Milliseconds for one request. */
const DEADLINE = 5000;

/**
 * Whether an authorization server still knows the client of this authorization request, which it is asked without showing anything to
 * anybody. One that does not redirects nobody back, and a person would wait in vain (RFC 6749 §4.1.2.1).
 */
export async function isClientKnown(authorizeUrl: URL): Promise<boolean> {
  const url = new URL(authorizeUrl);
  url.searchParams.set('prompt', 'none');
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(DEADLINE) });
    await answer.body?.cancel();
    return answer.status < 400 || answer.status >= 500 || answer.status === 429;
  } catch {
    return true;
  }
}
