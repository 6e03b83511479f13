import type { AuthServer, IdentityAssertionIssuer } from '#crds/run-config/auth-server';
import { primaryOf } from '#crds/run-config/auth-server';
import type { KeySet } from '#runtime/incoming/key-set';
import type { Refreshed } from '#runtime/incoming/refreshed';
import { type KeySetDeps, openKeySet } from '../register/open-key-set.ts';

/** An identity provider whose assertions clients may redeem. */
export interface AssertionIssuer {
  readonly config: IdentityAssertionIssuer;
  readonly keys: Refreshed<KeySet>;
  readonly clients: ReadonlySet<string>;
  /** Its subjects are those of the primary provider, so users are the same as at a login. */
  readonly isPrimary: boolean;
}

export interface AssertionIssuers {
  readonly size: number;
  get(issuer: string): AssertionIssuer | undefined;
  /** Names the issuers whose keys cannot be read. */
  warnings(): readonly string[];
  /** Returns whether a client may redeem assertions of an issuer. */
  admits(clientId: string): boolean;
  close(): void;
}

type Config = Pick<AuthServer, 'identity_assertions' | 'upstreams' | 'primary_upstream_provider'>;

/** Opens the identity providers of a configuration. Their keys are read at the first assertion. */
export function openAssertionIssuers(config: Config, deps: KeySetDeps): AssertionIssuers {
  const closing: (() => void)[] = [];
  const issuers = new Map(
    config.identity_assertions.map((one): [string, AssertionIssuer] => {
      const source = { owner: `issuer ${one.issuer}`, url: one.jwks_url, authorities: one.ca_bundle_file };
      const clients = new Set(one.clients.map(({ client_id }) => client_id));
      return [
        one.issuer,
        { config: one, keys: openKeySet(source, deps, closing), clients, isPrimary: isPrimary(one, config) },
      ];
    }),
  );
  return {
    size: issuers.size,
    get: (issuer) => issuers.get(issuer),
    warnings: () =>
      [...issuers].flatMap(([issuer, { keys }]) =>
        keys.failing ? [`the keys of ${issuer} cannot be read, so its assertions are refused: check jwksUrl`] : [],
      ),
    admits: (clientId) => [...issuers.values()].some(({ clients }) => clients.has(clientId)),
    close() {
      for (const close of closing) close();
    },
  };
}

/** The same text in another claim may name another person, so the claim must be the same too. */
function isPrimary({ issuer, subject_claim: claim }: IdentityAssertionIssuer, config: Config): boolean {
  const primary = primaryOf(config);
  if (primary?.type !== 'oidc') return false;
  const { issuer_url: url, subject_claim: subject = 'sub', userinfo_override: override } = primary.oidc_config;
  const subjects = override?.field_mapping?.subject_fields ?? [subject];
  return url === issuer && subjects.length === 1 && subjects[0] === claim;
}
