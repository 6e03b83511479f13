import type { lookup } from 'node:dns';
import type { ProxySettings } from '#lib/connections/proxy';
import type { Space } from './skill-limits.ts';

/** Permissions and limits for fetching a skill. */
export interface SourceRules {
  /** Whether folders and repositories of this machine may be read. */
  localPaths: boolean;
  /** Whether callers may request private addresses. */
  privateAddresses: boolean;
  proxy: ProxySettings | undefined;
  /** Resolves names; by default the resolver of the system. */
  lookup?: typeof lookup;
  /** `PATH` for programs. */
  searchPath: string;
  /** Milliseconds for a skill and its dependencies. */
  deadline: number;
}

export interface FetchRequest {
  rules: SourceRules;
  /** Allows private addresses, also with plain http. */
  allowPrivateAddress: boolean;
  /** Empty folder into which the skill is unpacked. */
  into: string;
  space: Space;
  signal: AbortSignal;
}

/** A fetched source: its files are safe, but not yet validated as a skill. */
export interface FetchedSkill {
  /** Pinned reference: fetching it again returns the same content. */
  reference: string;
  /** Requested tag, branch or version. */
  tag: string | undefined;
  /** Digest from the source, if it has one. */
  digest: string | undefined;
  /** Folder name of the skill in its source, if it has one. */
  directory: string | undefined;
}

export const PRIVATE_REMEDY = 'set allow_private_ip to allow it';

/** Default deadline in milliseconds. */
export const FETCH_DEADLINE = 300_000;
