import type { RedisConfig } from '#lib/connections/redis-options';
import { AuthServerStorage, SessionStorage } from '#crds/parts/storage';
import { valueAt } from '#crds/parts/rule';
import { Redis } from '#crds/run-config/storage';
import type { KeyReference } from '#operator/plan/file-list';
import { keyPrefixOf } from '#operator/plan/render-run-config';
import { renderAuthServerStorage, renderSessionStorage } from '#operator/plan/render-storage';
import type { Manifest } from '#operator/world';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** What of a server is in a Redis. */
export const CONTENTS = ['sessions', 'logins'] as const;
export type Content = (typeof CONTENTS)[number];

/** A Redis as a resource names it. */
export interface WrittenPlace {
  contents: readonly Content[];
  /** Its files are `<name of the Secret>/<key>`. */
  config: RedisConfig;
  references: readonly KeyReference[];
}

/** How `WrittenPlace.config` names the value of a Secret. */
export const secretFile = ({ name, key }: KeyReference): string => `${name}/${key}`;

/** The authorization server of an MCPServer stands in a resource of its own. */
export function authConfigNameOf({ kind, spec }: Manifest): string | undefined {
  const name = kind === 'MCPServer' ? valueAt(spec, ['externalAuthConfigRef', 'name']) : undefined;
  return typeof name === 'string' ? name : undefined;
}

function parsed<T>(schema: { safeParse(value: unknown): { data?: T | undefined } }, value: unknown, field: string) {
  if (value === undefined) return undefined;
  const { data } = schema.safeParse(value);
  if (data !== undefined) return data;
  const remedy = 'mend it, or say where the keys are with --redis-address';
  throw new CliError(EXIT_CODES.input, `${field} is not valid, so nobody knows where its keys are: ${remedy}`);
}

/**
 * Where a server keeps what it stores, as its manifest says it; none: in its own memory. `authConfig`: the resource that
 * `authConfigNameOf` names. @throws CliError where that is not valid
 */
export function writtenPlaces(manifest: Manifest, authConfig?: Manifest): WrittenPlace[] {
  const { spec, metadata } = manifest;
  const prefix = keyPrefixOf(manifest, metadata);
  const sessions = valueAt(spec, ['sessionStorage']) ?? valueAt(spec, ['config', 'sessionStorage']);
  const logins =
    manifest.kind === 'MCPServer'
      ? valueAt(authConfig?.spec, ['embeddedAuthServer', 'storage'])
      : valueAt(spec, ['authServerConfig', 'storage']);
  const [ofSessions, ofLogins] = [[], []] as [KeyReference[], KeyReference[]];
  const session = parsed(SessionStorage, sessions, 'sessionStorage');
  const login = parsed(AuthServerStorage, logins, 'authServerConfig.storage');
  return merged([
    ...place('sessions', renderSessionStorage(session, prefix, collecting(ofSessions)), ofSessions),
    ...place('logins', login && renderAuthServerStorage(login, prefix, collecting(ofLogins)), ofLogins),
  ]);
}

function collecting(references: KeyReference[]) {
  return {
    secret(reference: KeyReference): string {
      references.push(reference);
      return secretFile(reference);
    },
  };
}

function place(
  content: Content,
  storage: ReturnType<typeof renderSessionStorage> | undefined,
  references: KeyReference[],
): WrittenPlace[] {
  if (storage?.type !== 'redis') return [];
  return [{ contents: [content], config: Redis.parse(storage.redis), references }];
}

/** Text that is the same for two that mean the same keys. */
export function placeText({ addr, db, sentinel_config: sentinel, key_prefix }: RedisConfig): string {
  const addresses = sentinel ? [...sentinel.sentinel_addrs].sort() : [addr];
  return JSON.stringify([sentinel?.master_name, addresses, sentinel?.db ?? db, key_prefix]);
}

/** Sessions and logins are often at the same place. */
function merged(places: WrittenPlace[]): WrittenPlace[] {
  const [first, second] = places;
  if (!first || !second || placeText(first.config) !== placeText(second.config)) return places;
  return [{ ...first, contents: CONTENTS, references: [...first.references, ...second.references] }];
}

/** One whose manifest is not valid keeps its keys where nobody can tell. */
export function placesOfNeighbour(manifest: Manifest, config: Manifest | undefined): WrittenPlace[] {
  try {
    return writtenPlaces(manifest, config);
  } catch (problem) {
    if (problem instanceof CliError) return [];
    throw problem;
  }
}
