import { z } from 'zod';
import type { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { Header } from '../records/registry-entry.ts';
import type { WorkloadDetail } from '../records/workload.ts';
import type { Spec, SpecChange, WrittenSpec } from './spec.ts';

/** What a record says that means nothing to an MCPServer: it is recorded with the resource, and given back. */
export const Recorded = z.strictObject({
  headers: z.array(Header.strict()).max(256).optional(),
  skip_browser: z.boolean().optional(),
  registry_url: z.string().max(2048).optional(),
  registry_api_url: z.string().max(2048).optional(),
});
export type Recorded = z.infer<typeof Recorded>;

/** What a detail says besides what stands in the spec. */
export interface Around {
  /** Name of the workload. */
  name: string;
  /** Address that endpoints of workloads listen on here. */
  host: string;
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

type Full = Required<WorkloadDetail>;
export type Fields<K extends keyof Full> = { [N in K]: Field<NonNullable<Full[N]>> };
