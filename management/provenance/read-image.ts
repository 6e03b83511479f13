import { isImage } from '../registries/image-of-package.ts';

export interface ImageName {
  registry: string;
  repository: string;
  reference: string;
  pinned(digest: string): string;
}

const HUB = 'docker.io';

/** Returns undefined for other references, such as packages. */
export function readImage(text: string): ImageName | undefined {
  if (!isImage(text)) return undefined;
  const [named = '', digest] = text.split('@');
  const registry = hostOf(named);
  const path = registry === undefined ? named : named.slice(registry.length + 1);
  const [repository = '', tag = 'latest'] = path.split(':');
  if (repository === '' || !URL.canParse(`https://${registry ?? HUB}`)) return undefined;
  const pinned = (wanted: string): string => `${named}@${wanted}`;
  return { registry: registry ?? HUB, repository, reference: digest ?? tag, pinned };
}

function hostOf(named: string): string | undefined {
  const [, first = ''] = /^([^/]+)\//.exec(named) ?? [];
  return /[.:]/.test(first) || first === 'localhost' ? first : undefined;
}
