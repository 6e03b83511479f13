import type { RedisConfig } from '#lib/connections/redis-options';
import { AuthServerStorage, SessionStorage } from '#crds/parts/storage';
import { valueAt } from '#crds/parts/rule';
import { Redis } from '#crds/run-config/storage';
import type { KeyReference } from '#operator/plan/file-list';
import { keyPrefixOf } from '#operator/plan/render-run-config';
import { renderAuthServerStorage, renderSessionStorage } from '#operator/plan/render-storage';
import type { Manifest } from '#operator/snapshot';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

export const CONTENTS = ['sessions', 'logins'] as const;
export type Content = (typeof CONTENTS)[number];

export interface WrittenKeys {
  contents: readonly Content[];
  /** File names have the form `<name of the Secret>/<key>`. */
  config: RedisConfig;
  references: readonly KeyReference[];
}

export const secretFile = ({ name, key }: KeyReference): string => `${name}/${key}`;

/** Names the resource with the authorization server of an MCPServer. */
export function authConfigNameOf({ kind, spec }: Manifest): string | undefined {
  const name = kind === 'MCPServer' ? valueAt(spec, ['externalAuthConfigRef', 'name']) : undefined;
  return typeof name === 'string' ? name : undefined;
}

function parsed<T>(schema: { safeParse(value: unknown): { data?: T | undefined } }, value: unknown, field: string) {
  if (value === undefined) return undefined;
  const { data } = schema.safeParse(value);
  if (data !== undefined) return data;
  const remedy = 'mend it, or say where the keys are with --redis-address';
  throw new CliError(EXIT_CODES.input, `${field} is not valid, so the place of its keys is unknown: ${remedy}`);
}

/** Returns no places for in-memory storage. `authConfig` is the resource of `authConfigNameOf`. @throws CliError when it is invalid */
export function findWrittenKeys(manifest: Manifest, authConfig?: Manifest): WrittenKeys[] {
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
): WrittenKeys[] {
  if (storage?.type !== 'redis') return [];
  return [{ contents: [content], config: Redis.parse(storage.redis), references }];
}

export function placeText({ addr, db, sentinel_config: sentinel, key_prefix }: RedisConfig): string {
  const addresses = sentinel ? [...sentinel.sentinel_addrs].sort() : [addr];
  return JSON.stringify([sentinel?.master_name, addresses, sentinel?.db ?? db, key_prefix]);
}

/** Sessions and logins often share one. */
function merged(places: WrittenKeys[]): WrittenKeys[] {
  const [first, second] = places;
  if (!first || !second || placeText(first.config) !== placeText(second.config)) return places;
  return [{ ...first, contents: CONTENTS, references: [...first.references, ...second.references] }];
}

export function placesOfNeighbour(manifest: Manifest, config: Manifest | undefined): WrittenKeys[] {
  try {
    return findWrittenKeys(manifest, config);
  } catch (problem) {
    if (problem instanceof CliError) return [];
    throw problem;
  }
}
