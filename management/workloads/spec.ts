import type { z } from 'zod';
import { MCPServerSpec } from '#crds/kinds/index';

const { shape } = MCPServerSpec;
type Fields = z.output<typeof MCPServerSpec>;

/** Fields of an MCPServer that are valid on their own, with defaults. */
export type Spec = Partial<Fields>;

/** The spec as it is written; changes apply to it, so that all else stays. */
export type WrittenSpec = Readonly<Record<string, unknown>>;

/** Fields to write; undefined removes a field. */
export type SpecChange = Record<string, unknown>;

/** Returns the valid part of a written spec. An invalid resource is also shown, so that users can correct it. */
export function readSpec(written: WrittenSpec): Spec {
  const whole = MCPServerSpec.safeParse(written);
  if (whole.success) return whole.data;
  const fields = Object.entries(shape).flatMap(([name, schema]) => {
    const read = schema.safeParse(written[name]);
    return read.success && read.data !== undefined ? [[name, read.data] as const] : [];
  });
  return Object.fromEntries(fields);
}

/** Returns the spec with a change applied. */
export function changed(written: WrittenSpec, change: SpecChange): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...written, ...change }).filter(([, value]) => value !== undefined));
}

export const mapping = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** Replaces an empty value by undefined, which is not written. */
export function orNothing<T>(value: T | null | undefined): T | undefined {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return undefined;
  const isEmpty = typeof value === 'object' && Object.keys(value).length === 0;
  return isEmpty ? undefined : value;
}

/** Returns the object without undefined members; undefined when none is left. */
export function present<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } | undefined {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.length === 0
    ? undefined
    : (Object.fromEntries(members) as { [K in keyof T]: Exclude<T[K], undefined> });
}
