import type { lookup } from 'node:dns';
import type { ProxySettings } from '#lib/connections/proxy';
import type { Space } from './skill-limits.ts';

/** What may be asked for a skill, and by what. */
export interface SourceRules {
  /** Folders and repositories of this machine may be read. */
  localPaths: boolean;
  /** Callers may have private addresses called. */
  privateAddresses: boolean;
  proxy: ProxySettings | undefined;
  /** How names become addresses; the system's own without. */
  lookup?: typeof lookup;
  /** Where programs are looked for: `PATH`. */
  searchPath: string;
  /** Milliseconds for a skill and all that it needs. */
  deadline: number;
}

export interface FetchRequest {
  rules: SourceRules;
  /** Private addresses may be called, and these by plain http. */
  allowPrivateAddress: boolean;
  /** An empty folder that the skill is unpacked into. */
  into: string;
  space: Space;
  signal: AbortSignal;
}

/** What was fetched: files whose form is safe, and which are no skill yet. */
export interface FetchedSkill {
  /** As exactly as it can be said: fetching it again gives the same. */
  reference: string;
  /** Tag, branch or version that was asked for. */
  tag: string | undefined;
  /** Digest by the source, where it has one. */
  digest: string | undefined;
  /** Name of the folder that it had there, if it had one. */
  directory: string | undefined;
}

export const PRIVATE_REMEDY = 'set allow_private_ip to allow it';

/** Deadline where nobody waits for a shorter time. */
export const FETCH_DEADLINE = 300_000;
