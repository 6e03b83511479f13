import type { Status } from '#crds/kinds/status';
import type { Kind } from '#operator/snapshot';
import type { Expected } from '../if-match.ts';
import type { Attempts } from './attempts.ts';

/** A resource as it is written, with its location. */
export interface StoredResource {
  kind: Kind;
  name: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** As it is written, without defaults. */
  spec: Record<string, unknown>;
  /** Changes with each write of the wanted state, but not with the status. */
  version: string;
  /** RFC 3339. */
  createdAt?: string | undefined;
  /** Deletion has begun; the parts of the resource are still being removed. */
  isBeingDeleted?: boolean | undefined;
  /** In a cluster. */
  uid?: string | undefined;
  status?: Status | undefined;
}

/** Wanted state of a resource. */
export type WantedResource = Pick<StoredResource, 'kind' | 'name' | 'labels' | 'annotations' | 'spec'>;

export interface WriteOptions {
  /** Version that was read (`If-Match`). A different version throws Problem `stale`. */
  expected?: Expected | undefined;
  /** Takes over fields of another manager, or a file that cannot be edited without loss. Without it: Problem `conflict`. */
  force?: boolean | undefined;
  /** Shared limit of attempts after concurrent changes; by default its own. */
  attempts?: Attempts | undefined;
}

/** Returns an identity that differs for a later resource of the same name. */
export const identityOf = ({ uid, createdAt }: Pick<StoredResource, 'uid' | 'createdAt'>): string =>
  uid ?? createdAt ?? '';

export interface DeleteOptions extends WriteOptions {
  /** Identity of the resource that is meant (`identityOf`). A different one throws Problem `stale`. */
  identity?: string | undefined;
}

/**
 * The resources of one namespace: manifests of a folder, whose comments and order are kept, or objects of a cluster, by server-side apply.
 * Each write is first validated against the schema of its kind; Problem `bad_request` names the field.
 */
export interface Resources {
  list(kind: Kind): Promise<StoredResource[]>;
  get(kind: Kind, name: string): Promise<StoredResource | undefined>;
  /** Throws Problem `already_exists`. */
  create(resource: WantedResource): Promise<StoredResource>;
  /** Sets the spec. An equal spec changes nothing, not even the version. Throws Problem `not_found`. */
  replace(resource: WantedResource, options?: WriteOptions): Promise<StoredResource>;
  /** Returns whether the resource existed. */
  delete(kind: Kind, name: string, options?: DeleteOptions): Promise<boolean>;
}
