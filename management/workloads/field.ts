import { z } from 'zod';
import type { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { Header } from '../records/registry-entry.ts';
import { recordedFields } from '../records/recorded.ts';
import type { WorkloadDetail } from '../records/workload.ts';
import { orNothing, type Spec, type SpecChange, type WrittenSpec } from './spec.ts';

/** These fields mean nothing to an MCPServer: they are stored with the resource and returned. */
export const Recorded = z.strictObject({
  headers: z.array(Header.strict()).max(256).optional(),
  skip_browser: z.boolean().optional(),
  bearer_token_target: z.string().max(256).optional(),
  client_secret_target: z.string().max(256).optional(),
  ...recordedFields,
});
export type Recorded = z.infer<typeof Recorded>;

export interface FieldOptions {
  name: string;
  host: string;
  /** Whether paths of this machine are meaningful. */
  hasPaths: boolean;
  recorded: Recorded;
  profile: PermissionProfileDocument | undefined;
}

export interface Change {
  spec?: SpecChange;
  recorded?: Recorded;
  profile?: PermissionProfileDocument;
}

/** Reading and writing are inverse. */
export interface Field<T> {
  read(spec: Spec, options: FieldOptions): T | undefined;
  /** Undefined removes the value. `written` is the current spec; parts that the record lacks are kept. */
  write(value: T | undefined, written: WrittenSpec, options: FieldOptions): Change;
}

export function same<K extends keyof Spec>(name: K): Field<NonNullable<Spec[K]>> {
  return {
    read: (spec) => orNothing(spec[name]) ?? undefined,
    write: (value) => ({ spec: { [name]: orNothing(value) } }),
  };
}

/** Treats 0 as no port. */
export function portField(name: 'proxyPort' | 'mcpPort'): Field<number> {
  return { read: (spec) => spec[name], write: (port) => ({ spec: { [name]: port === 0 ? undefined : port } }) };
}

export function recorded<K extends keyof Recorded>(name: K): Field<NonNullable<Recorded[K]>> {
  return {
    read: (_, options) => orNothing(options.recorded[name]) ?? undefined,
    write: (value, _, options) => ({ recorded: { ...options.recorded, [name]: orNothing(value) } }),
  };
}

type Full = Required<WorkloadDetail>;
export type Fields<K extends keyof Full> = { [N in K]: Field<NonNullable<Full[N]>> };
