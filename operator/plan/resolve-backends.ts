import { Stalled, Waiting } from '../errors.ts';
import type { FileList } from './file-list.ts';
import type { Member } from './find-group-members.ts';
import { type BackendDocument, renderBackend } from './render-backend.ts';
import type { OutgoingContext } from './resolve-outgoing-auth.ts';
import type { BackendFinding } from './finding.ts';

interface Tried {
  finding: BackendFinding;
  entry?: BackendDocument;
}

function leftOut(name: string, { reason, message }: Stalled | Waiting): Tried {
  return { finding: { name, excluded: { reason, message } } };
}

/** Renders one backend, or returns why it is left out. Discards the files of a backend that is left out. */
function tryBackend(member: Member, context: OutgoingContext, files: FileList): Tried {
  const { name } = member;
  if ('problem' in member) return leftOut(name, member.problem);
  if (member.spec.suspend) return { finding: { name, suspended: true } };
  const own = files.part();
  try {
    const { entry, url, authType } = renderBackend(name, member.spec, context, own);
    files.add(own);
    return { finding: { name, url, authType }, entry };
  } catch (problem) {
    if (problem instanceof Stalled || problem instanceof Waiting) return leftOut(name, problem);
    throw problem;
  }
}

/** Resolves the backends of a document and the status of each group member. A failed backend does not affect the others. */
export function resolveBackends(
  members: Member[],
  context: OutgoingContext,
  files: FileList,
): { entries: BackendDocument[]; findings: BackendFinding[] } {
  const tried = members.map((member) => tryBackend(member, context, files));
  return {
    entries: tried.flatMap(({ entry }) => (entry ? [entry] : [])),
    findings: tried.map(({ finding }) => finding),
  };
}
