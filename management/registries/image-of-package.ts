import type { Package } from './server-json.ts';

const NPM_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/i;
const PYPI_NAME = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i;
const VERSION = /^[0-9a-z][0-9a-z.+_-]*$/i;
/** `host[:port]/path[:tag][@digest]` as container engines parse it. It must not start like an option. */
const IMAGE =
  /^[a-z0-9][a-z0-9._-]*(:[0-9]{1,5})?(\/[a-z0-9][a-z0-9._-]*)*(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/i;

/** Returns undefined for packages of other registries than the default one: the same name there may be another package. */
export function imageOfPackage(found: Package): string | undefined {
  return RENDER.get(found.registryType)?.(found);
}

const RENDER = new Map<string, (found: Package) => string | undefined>([
  ['npm', (found) => renderPackage(found, 'npx', NPM_NAME, 'https://registry.npmjs.org')],
  ['pypi', (found) => renderPackage(found, 'uvx', PYPI_NAME, 'https://pypi.org')],
  ['oci', renderImage],
]);

function renderImage({ identifier, version }: Package): string | undefined {
  const isWhole = /@|:[^/]*$/.test(identifier);
  const image = isWhole || version === undefined ? identifier : `${identifier}:${version}`;
  return isImage(image) ? image : undefined;
}

function renderPackage(found: Package, runner: 'npx' | 'uvx', name: RegExp, usual: string): string | undefined {
  const { identifier, version, registryBaseUrl = usual } = found;
  if (registryBaseUrl.replace(/\/+$/, '') !== usual || !name.test(identifier)) return undefined;
  if (version === undefined) return `${runner}://${identifier}`;
  return VERSION.test(version) ? `${runner}://${identifier}@${version}` : undefined;
}

export function isImage(text: string): boolean {
  return text.length <= 512 && IMAGE.test(text);
}

export interface PackageImage {
  runner: 'npx' | 'uvx';
  name: string;
  version: string | undefined;
}

/** Returns undefined for texts other than `npx://` and `uvx://`, and for invalid package names. */
export function readPackageImage(image: string): PackageImage | undefined {
  const [, scheme, name = '', version] = /^(npx|uvx):\/\/(@?[^@]+)(?:@(.+))?$/.exec(image) ?? [];
  if (scheme !== 'npx' && scheme !== 'uvx') return undefined;
  const isName = (scheme === 'npx' ? NPM_NAME : PYPI_NAME).test(name);
  return isName && (version === undefined || VERSION.test(version)) ? { runner: scheme, name, version } : undefined;
}
