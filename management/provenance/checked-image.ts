import { z } from 'zod';
import { parseJson } from '#lib/json/parse-json';
import type { StoredResource } from '../stores/resources.ts';

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

export const CHECKED_IMAGE = 'vmcp.dev/checked-image';

const UNVERIFIED = 'Its image is not verified';

/** Returns an empty text if the registry declares no signer. */
export function tellCheckedImage(resource: Pick<StoredResource, 'annotations' | 'spec'>): string {
  const checked = readAnnotation(resource.annotations[CHECKED_IMAGE]);
  if (!checked) return '';
  if (!runs(resource.spec, checked))
    return `${UNVERIFIED}: what runs was changed after it had been made of the registry.`;
  if (checked.result === 'unsigned')
    return `${UNVERIFIED}: it has no signature, though the registry says who signs it.`;
  if (checked.result === 'unchecked') return `${UNVERIFIED}: ${checked.reason}.`;
  return `Its image is verified: ${checked.identity} (${checked.issuer}) signed ${checked.digest}.`;
}

/** A pod template, including its probes, may add or replace a program. Quotes inside JSON strings are escaped. */
const REPLACES = /"(image|command|args)":/;

/** A command, a URL or a pod template may replace the checked image. */
function runs({ image, command, remoteUrl, podTemplateSpec }: StoredResource['spec'], checked: CheckedImage): boolean {
  const isPinned = checked.result !== 'verified' || checked.image.endsWith(`@${checked.digest}`);
  const mayReplace =
    [command, remoteUrl].some((other) => other !== undefined) || REPLACES.test(JSON.stringify(podTemplateSpec ?? null));
  return image === checked.image && isPinned && !mayReplace;
}

function readAnnotation(text: string | undefined): CheckedImage | undefined {
  if (text === undefined) return undefined;
  return CheckedImage.safeParse(parseJson(text)).data;
}
