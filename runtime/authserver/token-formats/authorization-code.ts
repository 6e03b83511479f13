import type { SecretRing } from '#runtime/keys/secret-ring';

type Macs = Pick<SecretRing, 'kid' | 'mac' | 'verify'>;

const FORM = /^([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

/** `kid.id.mac` for a new `id`, which the storage knows by its hash. */
export function writeCode(secrets: Macs, id: string): string {
  const { kid } = secrets;
  return `${kid}.${id}.${secrets.mac(kid, `code|${id}`)}`;
}

/**
 * The `id` of a code that was made here; undefined for any other text.
 * @throws UnknownSecret
 */
export function readCode(secrets: Macs, text: string): string | undefined {
  const [, kid = '', id = '', mac = ''] = FORM.exec(text) ?? [];
  return id !== '' && secrets.verify(kid, `code|${id}`, mac) ? id : undefined;
}
