import type { UpstreamAccount } from '../storage/rows.ts';
import { html, type Html } from './html.ts';

/** Provider as the pages show it. */
export interface ProviderView {
  readonly name: string;
  /** Host of the sign-in page. */
  readonly host: string;
  readonly required: boolean;
  /** `needs_login`: the provider refused to renew the tokens. */
  readonly state: 'linked' | 'needs_login' | 'unlinked';
  readonly account: UpstreamAccount | undefined;
  /** Milliseconds since the epoch. */
  readonly linkedAt: number | undefined;
}

/** Renders the name and the host of a provider. */
export function providerName({ name, host }: ProviderView): Html {
  return html`<strong>${name}</strong> <small>${host}</small>`;
}

/** Renders an account by its name and email address, otherwise by its subject. */
export function accountName(account: Pick<UpstreamAccount, 'name' | 'email' | 'subject'>): Html {
  const { name, email, subject } = account;
  if (name !== undefined && email !== undefined) return html`<bdi>${name}</bdi> (<bdi>${email}</bdi>)`;
  return html`<bdi>${name ?? email ?? subject}</bdi>`;
}
