import { z } from 'zod';
import type { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { Header } from '../records/registry-entry.ts';
import { recordedFields } from '../records/recorded.ts';
import type { WorkloadDetail } from '../records/workload.ts';
import { orNothing, type Spec, type SpecChange, type WrittenSpec } from './spec.ts';

/** What a record says that means nothing to an MCPServer: it is recorded with the resource, and given back. */
export const Recorded = z.strictObject({
  headers: z.array(Header.strict()).max(256).optional(),
  skip_browser: z.boolean().optional(),
  bearer_token_target: z.string().max(256).optional(),
  client_secret_target: z.string().max(256).optional(),
  ...recordedFields,
});
export type Recorded = z.infer<typeof Recorded>;

/** What a detail says besides what stands in the spec. */
export interface Around {
  /** Name of the workload. */
  name: string;
  /** Address that endpoints of workloads listen on here. */
  host: string;
  /** Paths of the machine mean something here. */
  hasPaths: boolean;
  recorded: Recorded;
  /** What the ConfigMap of the permission profile holds, where there is one. */
  profile: PermissionProfileDocument | undefined;
}

/** What a field of a record changes. */
export interface Change {
  spec?: SpecChange;
  recorded?: Recorded;
  /** To be held by a ConfigMap of its own. */
  profile?: PermissionProfileDocument;
}

/** One field of a record, in both directions: what is read is what is written. */
export interface Field<T> {
  /** Undefined where the resource says nothing. */
  read(spec: Spec, around: Around): T | undefined;
  /** Undefined takes it away. `written` is the spec as it stands: what the record does not have is kept. */
  write(value: T | undefined, written: WrittenSpec, around: Around): Change;
}

/** A field that stands in the spec as it does in the record. */
export function same<K extends keyof Spec>(name: K): Field<NonNullable<Spec[K]>> {
  return {
    read: (spec) => orNothing(spec[name]) ?? undefined,
    write: (value) => ({ spec: { [name]: orNothing(value) } }),
  };
}

/** A port; 0 stands for none. */
export function portField(name: 'proxyPort' | 'mcpPort'): Field<number> {
  return { read: (spec) => spec[name], write: (port) => ({ spec: { [name]: port === 0 ? undefined : port } }) };
}

/** A field that is only kept with the resource. */
export function recorded<K extends keyof Recorded>(name: K): Field<NonNullable<Recorded[K]>> {
  return {
    read: (_, around) => orNothing(around.recorded[name]) ?? undefined,
    write: (value, _, around) => ({ recorded: { ...around.recorded, [name]: orNothing(value) } }),
  };
}

type Full = Required<WorkloadDetail>;
export type Fields<K extends keyof Full> = { [N in K]: Field<NonNullable<Full[N]>> };
