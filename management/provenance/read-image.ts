import { isImage } from '../registries/image-of-package.ts';

/** Location of an image. */
export interface ImagePlace {
  registry: string;
  repository: string;
  /** Requested digest or tag. */
  reference: string;
  /** Returns the same image with this digest. */
  pinned(digest: string): string;
}

const HUB = 'docker.io';

/**
 * Returns the location from which a container engine pulls an image; undefined for other references, such as packages.
 */
export function readImage(text: string): ImagePlace | undefined {
  if (!isImage(text)) return undefined;
  const [named = '', digest] = text.split('@');
  const registry = hostOf(named);
  const path = registry === undefined ? named : named.slice(registry.length + 1);
  const [repository = '', tag = 'latest'] = path.split(':');
  if (repository === '' || !URL.canParse(`https://${registry ?? HUB}`)) return undefined;
  const pinned = (wanted: string): string => `${named}@${wanted}`;
  return { registry: registry ?? HUB, repository, reference: digest ?? tag, pinned };
}

/** Returns the first part of the name if it looks like a host. */
function hostOf(named: string): string | undefined {
  const [, first = ''] = /^([^/]+)\//.exec(named) ?? [];
  return /[.:]/.test(first) || first === 'localhost' ? first : undefined;
}
