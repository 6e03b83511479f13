import { isImage } from '../registries/image-of-package.ts';

/** An image by where it is. */
export interface ImagePlace {
  registry: string;
  repository: string;
  /** What is asked for: a digest, or a tag. */
  reference: string;
  /** The same image by a digest. */
  pinned(digest: string): string;
}

const HUB = 'docker.io';

/** Where a container engine gets an image from; undefined for what is none, such as a package. */
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

/** The first part is a host where it looks like one. */
function hostOf(named: string): string | undefined {
  const [, first = ''] = /^([^/]+)\//.exec(named) ?? [];
  return /[.:]/.test(first) || first === 'localhost' ? first : undefined;
}
