import type { UpstreamAccount } from '../storage/rows.ts';
import { html, type Html } from './html.ts';

export interface ProviderView {
  readonly name: string;
  readonly host: string;
  readonly required: boolean;
  readonly state: 'linked' | 'needs_login' | 'unlinked';
  readonly account: UpstreamAccount | undefined;
  /** Milliseconds since the epoch. */
  readonly linkedAt: number | undefined;
}

export function providerName({ name, host }: ProviderView): Html {
  return html`<strong>${name}</strong> <small>${host}</small>`;
}

export function accountName(account: Pick<UpstreamAccount, 'name' | 'email' | 'subject'>): Html {
  const { name, email, subject } = account;
  if (name !== undefined && email !== undefined) return html`<bdi>${name}</bdi> (<bdi>${email}</bdi>)`;
  return html`<bdi>${name ?? email ?? subject}</bdi>`;
}
