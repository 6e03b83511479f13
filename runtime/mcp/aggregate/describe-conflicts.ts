import type { CatalogueEntry } from './catalogue-entry.ts';
import type { NameConflict, ShadowedUri } from './compose-names.ts';
import type { ListKind } from './list-kinds.ts';

const NAMED = 5;

export function nameSome(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${names.slice(0, NAMED).join(', ')}${more}`;
}

export function describeConflict(kind: ListKind, { name, pairs }: NameConflict): string {
  const owners = pairs.map(({ backend, originalName }) => `${originalName} of ${backend}`).join(' and ');
  return `${kind} ${name}: ${owners} would have the same name, so none of them is advertised; override a name`;
}

export function describeTaken({ name, backend, originalName }: CatalogueEntry): string {
  return `tools ${name}: ${originalName} of ${backend} would have the name of a tool of the gateway's own, so it is not advertised; override its name`;
}

export function describeShadowed(kind: ListKind, shadowed: readonly ShadowedUri[]): string[] {
  return byPair(shadowed).map(
    ({ winner, loser, uris }) =>
      `${kind}: ${winner} and ${loser} have the same URIs, and those of ${loser} are not advertised: ${nameSome(uris)}; give them other URIs`,
  );
}

function byPair(shadowed: readonly ShadowedUri[]) {
  const pairs = new Map<string, { winner: string; loser: string; uris: string[] }>();
  for (const { uri, winner, loser } of shadowed) {
    const key = `${winner}\n${loser}`;
    const pair = pairs.get(key) ?? { winner, loser, uris: [] };
    if (!pair.uris.includes(uri)) pair.uris.push(uri);
    pairs.set(key, pair);
  }
  return [...pairs.values()];
}
