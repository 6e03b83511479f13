import { z } from 'zod';
import { KIND_NAMES } from '#crds/kinds/index';
import { nearest } from '#crds/parts/nearest';
import type { Problem } from './resource.ts';
import type { YamlDocument } from './yaml-documents.ts';

const KNOWN_KINDS = [...Object.keys(KIND_NAMES), 'Secret', 'ConfigMap'];
/** No other program of the cluster reads these kinds. */
const OWN_FAMILY = /^(Virtual)?MCP/;

function remedyForKind(kind: string): string {
  if (kind === 'Kustomization') return 'write what `kubectl kustomize` prints into a folder, and name that one';
  if (kind.endsWith('List')) return 'write each of its items as a document of its own, with `---` between them';
  const meant = nearest(kind, KNOWN_KINDS);
  return meant === undefined ? 'move it to another folder' : `did you mean \`${meant}\`?`;
}

/** Another program reads the object, e.g. a Namespace. */
function isForeign(kind: string, value: unknown): boolean {
  if (!z.object({ apiVersion: z.string().min(1) }).safeParse(value).success) return false;
  if (kind === 'Kustomization' || kind === 'List') return false;
  return !OWN_FAMILY.test(kind) && nearest(kind, KNOWN_KINDS) === undefined;
}

/** Returns a notice when vmcp ignores it, a problem when it looks like a mistake. */
export function explainUnknownKind(
  kind: string | undefined,
  file: string,
  { line, lineOf, value }: YamlDocument,
): { notices: Problem[]; problems: Problem[] } {
  const place = { file, line: lineOf(['kind']) ?? line, path: 'kind' };
  const known = KNOWN_KINDS.join(', ');
  if (kind === undefined) {
    return { notices: [], problems: [{ ...place, message: `required field is missing; write one of ${known}` }] };
  }
  if (isForeign(kind, value)) {
    return { notices: [{ ...place, message: `\`${kind}\` is passed over, as vmcp does not read it` }], problems: [] };
  }
  const message = `unknown kind \`${kind}\`; known are ${known}; ${remedyForKind(kind)}`;
  return { notices: [], problems: [{ ...place, message }] };
}
