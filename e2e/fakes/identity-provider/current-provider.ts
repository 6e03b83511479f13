import type { RequestListener } from 'node:http';
import { createProvider, type ProviderSettings } from './create-provider.ts';

/** A provider whose keys and settings change while it serves. */
export interface CurrentProvider {
  readonly handle: RequestListener;
  /** Adds a new signing key; with `dropOld`, tokens of older keys no longer verify. */
  readonly rotate: (how?: { dropOld?: boolean }) => Promise<void>;
  /** Sets the lifetime of tokens that are issued later, in seconds. */
  readonly setTokenLifetime: (seconds: number) => void;
}

/** Serves a provider that each change replaces, as the library reads its settings only once. */
export function serveCurrent(settings: ProviderSettings): CurrentProvider {
  const make = () => createProvider(settings).callback();
  let handle = make();
  return {
    handle: (request, response) => void handle(request, response),
    rotate: async (how) => {
      await settings.keys.rotate(how);
      handle = make();
    },
    setTokenLifetime: (seconds) => {
      settings.tokenLifetime = seconds;
      handle = make();
    },
  };
}
