import type { Status } from '#crds/kinds/status';
import type { Kind } from '#operator/snapshot';
import type { Expected } from '../if-match.ts';
import type { Attempts } from './attempts.ts';

export interface StoredResource {
  kind: Kind;
  name: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** Spec as it is written, without defaults. */
  spec: Record<string, unknown>;
  /** Changes with each write of the wanted state, but not with the status. */
  version: string;
  /** RFC 3339. */
  createdAt?: string | undefined;
  /** Deletion has begun; the parts of the resource are still being removed. */
  isBeingDeleted?: boolean | undefined;
  /** Set in a cluster only. */
  uid?: string | undefined;
  status?: Status | undefined;
}

export type WantedResource = Pick<StoredResource, 'kind' | 'name' | 'labels' | 'annotations' | 'spec'>;

export interface WriteOptions {
  /** Version from `If-Match`. A different one throws Problem `stale`. */
  expected?: Expected | undefined;
  /** Takes over fields of another manager, or a file that cannot be edited without loss. Without it: Problem `conflict`. */
  force?: boolean | undefined;
  /** Shared limit of attempts after concurrent changes; by default its own. */
  attempts?: Attempts | undefined;
}

/** Differs for a later resource of the same name. */
export const identityOf = ({ uid, createdAt }: Pick<StoredResource, 'uid' | 'createdAt'>): string =>
  uid ?? createdAt ?? '';

export interface DeleteOptions extends WriteOptions {
  /** Result of `identityOf`. A different one throws Problem `stale`. */
  identity?: string | undefined;
}

/** Manifests keep comments and order; a cluster uses server-side apply. An invalid write throws Problem `bad_request` with the field. */
export interface Resources {
  list(kind: Kind): Promise<StoredResource[]>;
  get(kind: Kind, name: string): Promise<StoredResource | undefined>;
  /** Throws Problem `already_exists`. */
  create(resource: WantedResource): Promise<StoredResource>;
  /** Changes nothing for an equal spec, not even the version. Throws Problem `not_found`. */
  replace(resource: WantedResource, options?: WriteOptions): Promise<StoredResource>;
  delete(kind: Kind, name: string, options?: DeleteOptions): Promise<boolean>;
}
