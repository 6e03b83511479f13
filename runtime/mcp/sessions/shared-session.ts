import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import type { RecordSeal } from './record-seal.ts';
import { applyField, isLeg, type SessionField } from './session-record.ts';
import type { Session } from './session.ts';
import type { RecordChange, RecordName, StoredFields } from './storage/session-records.ts';

/** What this replica knows of the record of a session that it knows. */
export interface SharedSession {
  readonly session: Session;
  readonly name: RecordName;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Of each leg, by field: whoever replaces a leg has to know which. */
  readonly versions: Map<string, number>;
  /** When this replica had heard everything of it: as long as nothing was missed since, it need not ask. -1: it has to. */
  heardIn: number;
  /** Milliseconds of the monotonic clock: the last use that the record was told of. */
  toldUse: number;
  /** The record could not be told of a change. */
  isUnwritten: boolean;
}

export interface OpenedField extends SessionField {
  readonly version: number;
  /** Sealed with a secret that is not the first one any more. */
  readonly stale: boolean;
}

/** Seals changes; a leg replaces the one that this replica knows, anything else whatever is there. */
export function sealChanges(shared: SharedSession, fields: readonly SessionField[], seal: RecordSeal): RecordChange[] {
  return fields.map(({ name, plain }) => {
    const replaces = isLeg(name) ? (shared.versions.get(name) ?? 0) : undefined;
    const version = replaces === undefined ? 0 : replaces + 1;
    const value = plain === undefined ? undefined : `${version} ${seal.seal(shared.name, name, plain)}`;
    return { field: name, replaces, value };
  });
}

/** What sealed fields hold, legs last; without those that have gone. @throws UnknownSecret, SealBroken */
export function openFields(name: RecordName, fields: StoredFields, seal: RecordSeal): OpenedField[] {
  const opened: OpenedField[] = [];
  for (const [field, stored] of Object.entries(fields)) {
    const space = stored.indexOf(' ');
    if (stored === '') {
      opened.push({ name: field, plain: undefined, version: 0, stale: false });
      continue;
    }
    const { plain, stale } = seal.open(name, field, stored.slice(space + 1));
    opened.push({ name: field, plain, version: Number(stored.slice(0, space)), stale });
  }
  return opened.sort((a, b) => Number(isLeg(a.name)) - Number(isLeg(b.name)));
}

/** Takes over what another replica wrote; of a leg what is newer than what is known here. */
export function takeField({ session, versions }: SharedSession, field: OpenedField, backends: BackendSet): void {
  if (isLeg(field.name)) {
    if ((versions.get(field.name) ?? 0) >= field.version) return;
    versions.set(field.name, field.version);
  }
  const leg = applyField(session, field, backends);
  if (leg) session.stream?.join(leg);
}
