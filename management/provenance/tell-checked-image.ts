import type { StoredResource } from '../stores/resources.ts';
import { CheckedImage } from './checked-image.ts';

/** Annotation of a workload that was made of a registry's entry which says who signs its image. */
export const CHECKED_IMAGE = 'vmcp.dev/checked-image';

const UNVERIFIED = 'Its image is not verified';

/** What is known of the signature of a workload's image, a sentence; empty where no registry says who signs it. */
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

/** Keys of a pod template, its probes included, that put another program beside the image or into its place; a text has its quotes escaped. */
const REPLACES = /"(image|command|args)":/;

/** Nothing else runs than what was looked at: a command, a URL or a pod template may put something else in its place. */
function runs({ image, command, remoteUrl, podTemplateSpec }: StoredResource['spec'], checked: CheckedImage): boolean {
  const isPinned = checked.result !== 'verified' || checked.image.endsWith(`@${checked.digest}`);
  const mayReplace =
    [command, remoteUrl].some((other) => other !== undefined) || REPLACES.test(JSON.stringify(podTemplateSpec ?? null));
  return image === checked.image && isPinned && !mayReplace;
}

function readAnnotation(text: string | undefined): CheckedImage | undefined {
  if (text === undefined) return undefined;
  try {
    return CheckedImage.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
