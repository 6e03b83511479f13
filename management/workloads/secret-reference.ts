import { SecretKeyRef } from '#crds/parts/references';
import { Problem } from '../problem.ts';

/** Returns `<secret>/<key>`, as in records. */
export const referenceText = ({ name, key }: SecretKeyRef): string => `${name}/${key}`;

/** @throws Problem `inline_secret` for any other text, which the message never repeats */
export function readReference(text: string, field: string): SecretKeyRef {
  const [name, key, ...more] = text.split('/');
  const { data } = SecretKeyRef.safeParse({ name, key });
  if (data && more.length === 0) return data;
  const remedy =
    'store the secret (POST /secrets/default/keys, or vmcp secret set), and write its reference <secret>/<key>';
  throw new Problem('inline_secret', `body ${field}: not a reference to a secret: ${remedy}`);
}
