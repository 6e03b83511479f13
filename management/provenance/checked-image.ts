import { z } from 'zod';

const Text = z.string().max(4096);
const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** What came of looking at the signatures of a workload's image, kept with the workload. `image` is the one that it holds for. */
export const CheckedImage = z.discriminatedUnion('result', [
  z.strictObject({
    result: z.literal('verified'),
    image: Text,
    /** Of the manifest that is signed; the image is written with it. */
    digest: Digest,
    /** Who signed, by the certificate. */
    identity: Text,
    /** Who told the certificate authority so. */
    issuer: Text,
  }),
  z.strictObject({ result: z.literal('unsigned'), image: Text }),
  z.strictObject({ result: z.literal('unchecked'), image: Text, reason: Text }),
]);
export type CheckedImage = z.infer<typeof CheckedImage>;
