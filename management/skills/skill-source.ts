import type { lookup } from 'node:dns';
import type { ProxySettings } from '#lib/connections/proxy';
import type { Space } from './skill-limits.ts';

export interface SourceRules {
  localPaths: boolean;
  privateAddresses: boolean;
  proxy: ProxySettings | undefined;
  lookup?: typeof lookup;
  searchPath: string;
  /** Milliseconds for a skill and its dependencies. */
  deadline: number;
}

export interface FetchRequest {
  rules: SourceRules;
  /** Allows private addresses, also with plain http. */
  allowPrivateAddress: boolean;
  into: string;
  space: Space;
  signal: AbortSignal;
}

/** The files are safe, but not yet validated as a skill. */
export interface FetchedSkill {
  /** Pinned reference: fetching it again returns the same content. */
  reference: string;
  tag: string | undefined;
  digest: string | undefined;
  directory: string | undefined;
}

export const PRIVATE_REMEDY = 'set allow_private_ip to allow it';

/** Milliseconds. */
export const FETCH_DEADLINE = 300_000;
