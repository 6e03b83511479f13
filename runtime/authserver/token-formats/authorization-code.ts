import type { SecretRing } from '#runtime/keys/secret-ring';

type Macs = Pick<SecretRing, 'kid' | 'mac' | 'verify'>;

const FORM = /^([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

/** Returns the code `kid.id.mac` for a new `id`. The storage knows the id by its hash. */
export function writeCode(secrets: Macs, id: string): string {
  const { kid } = secrets;
  return `${kid}.${id}.${secrets.mac(kid, `code|${id}`)}`;
}

/** Returns the `id` of a code that this server made, or undefined for other text. @throws UnknownSecret */
export function readCode(secrets: Macs, text: string): string | undefined {
  const [, kid = '', id = '', mac = ''] = FORM.exec(text) ?? [];
  return id !== '' && secrets.verify(kid, `code|${id}`, mac) ? id : undefined;
}
