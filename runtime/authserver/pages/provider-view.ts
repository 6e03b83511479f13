import type { UpstreamAccount } from '../storage/rows.ts';
import { html, type Html } from './html.ts';

/** A provider as pages show it. */
export interface ProviderView {
  readonly name: string;
  /** Host where people sign in. */
  readonly host: string;
  readonly required: boolean;
  /** `needs_login`: the provider refused to renew the tokens. */
  readonly state: 'linked' | 'needs_login' | 'unlinked';
  readonly account: UpstreamAccount | undefined;
  /** Milliseconds since the epoch. */
  readonly linkedAt: number | undefined;
}

/** A provider's name and where it is. */
export function providerName({ name, host }: ProviderView): Html {
  return html`<strong>${name}</strong> <small>${host}</small>`;
}

/** As whom: what people know themselves by. */
export function accountName(account: Pick<UpstreamAccount, 'name' | 'email' | 'subject'>): Html {
  const { name, email, subject } = account;
  if (name !== undefined && email !== undefined) return html`<bdi>${name}</bdi> (<bdi>${email}</bdi>)`;
  return html`<bdi>${name ?? email ?? subject}</bdi>`;
}
