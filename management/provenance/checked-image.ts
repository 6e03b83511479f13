import { z } from 'zod';

const Text = z.string().max(4096);
const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** Stored with the workload; valid for `image` only. */
export const CheckedImage = z.discriminatedUnion('result', [
  z.strictObject({
    result: z.literal('verified'),
    image: Text,
    /** Digest of the signed manifest; `image` includes it. */
    digest: Digest,
    identity: Text,
    /** Issuer that identified the signer to the certificate authority. */
    issuer: Text,
  }),
  z.strictObject({ result: z.literal('unsigned'), image: Text }),
  z.strictObject({ result: z.literal('unchecked'), image: Text, reason: Text }),
]);
export type CheckedImage = z.infer<typeof CheckedImage>;
