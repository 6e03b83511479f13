import type { BackendSet } from '#runtime/mcp/backends/backend-set';
import type { RecordSeal } from './record-seal.ts';
import { applyField, isBackendSession, type SessionField } from './session-record.ts';
import type { Session } from './session.ts';
import type { RecordChange, RecordName, StoredFields } from './storage/session-records.ts';

/** The state of a session's record, as this replica knows it. */
export interface SharedSession {
  readonly session: Session;
  readonly name: RecordName;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** The version of each backend session, by field. A write names the version that it replaces. */
  readonly versions: Map<string, number>;
  /**
   * The value of the miss counter when this replica last read the record. While it equals the counter, the copy here is current. -1:
   * read again.
   */
  subscribedIn: number;
  /** The last recorded use, in milliseconds of the monotonic clock. */
  toldUse: number;
  /** Whether a change could not be written to the record. */
  isUnwritten: boolean;
}

export interface OpenedField extends SessionField {
  readonly version: number;
  /** Whether the field was sealed with a secret that is no longer the first one. */
  readonly stale: boolean;
}

/** Seals changes. A backend session replaces only the version that this replica knows; other fields replace any version. */
export function sealChanges(shared: SharedSession, fields: readonly SessionField[], seal: RecordSeal): RecordChange[] {
  return fields.map(({ name, plain }) => {
    const replaces = isBackendSession(name) ? (shared.versions.get(name) ?? 0) : undefined;
    const version = replaces === undefined ? 0 : replaces + 1;
    const value = plain === undefined ? undefined : `${version} ${seal.seal(shared.name, name, plain)}`;
    return { field: name, replaces, value };
  });
}

/** Opens sealed fields, backend sessions last. Removed fields have no value. @throws UnknownSecret, SealBroken */
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
  return opened.sort((a, b) => Number(isBackendSession(a.name)) - Number(isBackendSession(b.name)));
}

/** Applies a field that another replica wrote. Older versions of a backend session are ignored. */
export function takeField({ session, versions }: SharedSession, field: OpenedField, backends: BackendSet): void {
  if (isBackendSession(field.name)) {
    if ((versions.get(field.name) ?? 0) >= field.version) return;
    versions.set(field.name, field.version);
  }
  const backendSession = applyField(session, field, backends);
  if (backendSession) session.stream?.join(backendSession);
}
