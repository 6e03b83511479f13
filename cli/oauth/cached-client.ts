import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredOAuthClientInformation } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { openState, type StateFolder } from '#local/state-folder';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';

/** Reused between runs. */
const CachedClient = z.object({
  /** Some servers require the exact URI. With another port, the client registers again. */
  redirectUrl: z.url(),
  client: z.custom<StoredOAuthClientInformation>(
    (value) => z.object({ client_id: z.string() }).safeParse(value).success,
  ),
});
type CachedClient = z.infer<typeof CachedClient>;

/** The file name does not reveal the endpoint. */
function fileOf(state: StateFolder, endpoint: string): string {
  return join(state.clients, `${createHash('sha256').update(endpoint).digest('hex').slice(0, 32)}.json`);
}

export function readClient(state: StateFolder, endpoint: string): CachedClient | undefined {
  try {
    return CachedClient.parse(JSON.parse(readIfThere(fileOf(state, endpoint)) ?? ''));
  } catch {
    return undefined;
  }
}

export function keepClient(state: StateFolder, endpoint: string, kept: CachedClient): void {
  openState(state);
  mkdirSync(state.clients, { recursive: true, mode: 0o700 });
  writeFileAtomic(fileOf(state, endpoint), JSON.stringify(kept));
}

export function forgetClient(state: StateFolder, endpoint: string): void {
  rmSync(fileOf(state, endpoint), { force: true });
}

/** Milliseconds. */
const DEADLINE = 5000;

/** A server that does not know the client never redirects, so the user would wait in vain (RFC 6749 §4.1.2.1). */
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
