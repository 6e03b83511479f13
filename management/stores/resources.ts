import type { Status } from '#crds/kinds/status';
import type { Kind } from '#operator/world';
import type { Expected } from '../if-match.ts';
import type { Attempts } from './attempts.ts';

/** A resource as it is written, and where it is. */
export interface StoredResource {
  kind: Kind;
  name: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** As it is written, defaults not filled in. */
  spec: Record<string, unknown>;
  /** Changes with each write of what is wanted; not with the status. */
  version: string;
  /** RFC 3339. */
  createdAt?: string | undefined;
  /** It is on its way out; what it holds is still being removed. */
  isBeingDeleted?: boolean | undefined;
  /** In a cluster. */
  uid?: string | undefined;
  status?: Status | undefined;
}

/** What somebody wants a resource to be. */
export type WantedResource = Pick<StoredResource, 'kind' | 'name' | 'labels' | 'annotations' | 'spec'>;

export interface WriteOptions {
  /** What was read (`If-Match`); throws Problem `stale` when it is another by now. */
  expected?: Expected | undefined;
  /** Takes over fields that another manager owns, or a file that cannot be edited without loss; else Problem `conflict`. */
  force?: boolean | undefined;
  /** New attempts after changes by others are taken from these; its own without. */
  attempts?: Attempts | undefined;
}

/** Tells a resource from another of its name that is made after it. */
export const identityOf = ({ uid, createdAt }: Pick<StoredResource, 'uid' | 'createdAt'>): string =>
  uid ?? createdAt ?? '';

export interface DeleteOptions extends WriteOptions {
  /** Which one is meant (`identityOf`); throws Problem `stale` when it is another by now. */
  identity?: string | undefined;
}

/**
 * The resources of one namespace. Two of them: manifests of a folder, whose comments and order are kept, and objects of a cluster by
 * server-side apply. What is written is checked against the contract of its kind first; Problem `bad_request` names the field.
 */
export interface Resources {
  list(kind: Kind): Promise<StoredResource[]>;
  get(kind: Kind, name: string): Promise<StoredResource | undefined>;
  /** Throws Problem `already_exists`. */
  create(resource: WantedResource): Promise<StoredResource>;
  /** Makes the spec this one; the same spec again changes nothing, not even a version. Throws Problem `not_found`. */
  replace(resource: WantedResource, options?: WriteOptions): Promise<StoredResource>;
  /** Whether it was there. */
  delete(kind: Kind, name: string, options?: DeleteOptions): Promise<boolean>;
}
