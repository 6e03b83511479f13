import type { z } from 'zod';
import { MCPServerSpec } from '#crds/kinds/index';

const { shape } = MCPServerSpec;
type Fields = z.output<typeof MCPServerSpec>;

/** Contains only fields that are valid on their own, with defaults. */
export type Spec = Partial<Fields>;

/** Changes apply to it, so that all else stays. */
export type WrittenSpec = Readonly<Record<string, unknown>>;

/** Undefined removes a field. */
export type SpecChange = Record<string, unknown>;

/** Accepts an invalid resource, so that users can correct it. */
export function readSpec(written: WrittenSpec): Spec {
  const whole = MCPServerSpec.safeParse(written);
  if (whole.success) return whole.data;
  const fields = Object.entries(shape).flatMap(([name, schema]) => {
    const read = schema.safeParse(written[name]);
    return read.success && read.data !== undefined ? [[name, read.data] as const] : [];
  });
  return Object.fromEntries(fields);
}

export function changed(written: WrittenSpec, change: SpecChange): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...written, ...change }).filter(([, value]) => value !== undefined));
}

export const mapping = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

export function orNothing<T>(value: T | null | undefined): T | undefined {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return undefined;
  const isEmpty = typeof value === 'object' && Object.keys(value).length === 0;
  return isEmpty ? undefined : value;
}

export function present<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } | undefined {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.length === 0
    ? undefined
    : (Object.fromEntries(members) as { [K in keyof T]: Exclude<T[K], undefined> });
}
