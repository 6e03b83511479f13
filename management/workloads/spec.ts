import type { z } from 'zod';
import { MCPServerSpec } from '#crds/kinds/index';

const { shape } = MCPServerSpec;
type Fields = z.output<typeof MCPServerSpec>;

/** The fields of an MCPServer that are valid by themselves, defaults filled in. */
export type Spec = Partial<Fields>;

/** As it is written: what is changed is changed there, so that nothing else is. */
export type WrittenSpec = Readonly<Record<string, unknown>>;

/** Fields to write; undefined takes one away. */
export type SpecChange = Record<string, unknown>;

/** What of a written spec can be understood. A resource that somebody wrote wrongly is shown, too, so that it can be mended. */
export function readSpec(written: WrittenSpec): Spec {
  const whole = MCPServerSpec.safeParse(written);
  if (whole.success) return whole.data;
  const fields = Object.entries(shape).flatMap(([name, schema]) => {
    const read = schema.safeParse(written[name]);
    return read.success && read.data !== undefined ? [[name, read.data] as const] : [];
  });
  return Object.fromEntries(fields);
}

/** The spec with a change in it. */
export function changed(written: WrittenSpec, change: SpecChange): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...written, ...change }).filter(([, value]) => value !== undefined));
}

export const mapping = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** Undefined in place of what is empty: nothing is written for it. */
export function orNothing<T>(value: T | null | undefined): T | undefined {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return undefined;
  const isEmpty = typeof value === 'object' && Object.keys(value).length === 0;
  return isEmpty ? undefined : value;
}

/** An object without members that have no value; undefined where none is left. */
export function present<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } | undefined {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return members.length === 0
    ? undefined
    : (Object.fromEntries(members) as { [K in keyof T]: Exclude<T[K], undefined> });
}
