import type { RunConfigDocument } from '#crds/run-config/run-config';
import { writeText } from '../world.ts';

const texts = new WeakMap<RunConfigDocument, string>();

/** The document as its runtime reads it. A plan asks for it more than once, and YAML is the larger part of its work. */
export function documentText(document: RunConfigDocument): string {
  const known = texts.get(document);
  if (known !== undefined) return known;
  const text = writeText(document);
  texts.set(document, text);
  return text;
}
