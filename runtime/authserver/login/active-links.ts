import { SealBroken, UnknownSecret } from '#runtime/keys/secret-ring';
import { linkAad } from '../keys/aad.ts';
import type { LinkRow } from '../storage/rows.ts';
import { openLink } from '../upstream-tokens/stored-tokens.ts';
import type { ChainSettings } from './chain-settings.ts';

/** Returns the user's providers whose stored tokens are valid or can be renewed. */
export async function findActiveLinks(
  settings: Pick<ChainSettings, 'storage' | 'secrets' | 'place' | 'now'>,
  sub: string,
): Promise<Set<string>> {
  const links = Object.entries(await settings.storage.linksOf(sub));
  return new Set(links.filter(([name, row]) => isAlive(settings, sub, name, row)).map(([name]) => name));
}

/** A link that cannot be opened, because its secret is gone, counts as missing: the user logs in there again. */
function isAlive(
  { secrets, place, now }: Pick<ChainSettings, 'secrets' | 'place' | 'now'>,
  sub: string,
  provider: string,
  row: LinkRow,
): boolean {
  if (row.state !== 'linked') return false;
  try {
    const { refresh_token: refreshToken } = openLink(secrets, row, linkAad(place, sub, provider)).tokens;
    return refreshToken !== undefined || row.expires_at === undefined || row.expires_at > now();
  } catch (error) {
    if (error instanceof UnknownSecret || error instanceof SealBroken) return false;
    throw error;
  }
}
