import type { CedarValueJson, Type } from '@cedar-policy/cedar-wasm/nodejs';
import { entityReference } from './entities.ts';

/** The type of an attribute. The element of a set is absent if all observed sets were empty. */
export type ValueType =
  | { readonly kind: 'String' | 'Long' | 'Boolean' }
  | { readonly kind: 'Set'; readonly element: ValueType | undefined }
  | { readonly kind: 'Entity' | 'Extension'; readonly name: string }
  | { readonly kind: 'Record'; readonly attributes: ReadonlyMap<string, ValueType> };

const EXTENSIONS: Readonly<Record<string, string>> = { ip: 'ipaddr', offset: 'datetime' };

/** Returns the type of a value in policies; undefined for a list of values of different types. */
export function typeOfValue(value: CedarValueJson): ValueType | undefined {
  if (typeof value === 'string') return { kind: 'String' };
  if (typeof value === 'number') return { kind: 'Long' };
  if (typeof value === 'boolean') return { kind: 'Boolean' };
  if (value === null) return undefined;
  if (Array.isArray(value)) return typeOfList(value);
  const reference = entityReference(value);
  if (reference !== undefined) return { kind: 'Entity', name: reference.type };
  if (isExtension(value)) return { kind: 'Extension', name: EXTENSIONS[value.__extn.fn] ?? value.__extn.fn };
  return typeOfRecord(Object.entries(value));
}

function isExtension(value: object): value is { __extn: { fn: string } } {
  if (!('__extn' in value)) return false;
  const call = value.__extn;
  return typeof call === 'object' && call !== null && 'fn' in call && typeof call.fn === 'string';
}

function typeOfList(values: readonly CedarValueJson[]): ValueType | undefined {
  let element: ValueType | undefined;
  for (const value of values) {
    const type = typeOfValue(value);
    const merged = type && mergeTypes(element, type);
    if (merged === undefined) return undefined;
    element = merged;
  }
  return { kind: 'Set', element };
}

function typeOfRecord(entries: readonly [string, CedarValueJson][]): ValueType | undefined {
  const attributes = new Map<string, ValueType>();
  for (const [name, value] of entries) {
    const type = typeOfValue(value);
    if (type === undefined) return undefined;
    attributes.set(name, type);
  }
  return { kind: 'Record', attributes };
}

export function mergeTypes(a: ValueType | undefined, b: ValueType): ValueType | undefined {
  if (a === undefined) return b;
  if (a.kind === 'Set' && b.kind === 'Set') {
    if (b.element === undefined) return a;
    const element = mergeTypes(a.element, b.element);
    return element && { kind: 'Set', element };
  }
  if (a.kind === 'Record' && b.kind === 'Record') {
    const attributes = mergeAttributes(a.attributes, b.attributes);
    return attributes instanceof Map ? { kind: 'Record', attributes } : undefined;
  }
  const nameOf = (type: ValueType) => ('name' in type ? type.name : undefined);
  return a.kind === b.kind && nameOf(a) === nameOf(b) ? a : undefined;
}

/** Merges two attribute lists. Returns the name of the first attribute with conflicting types, if any. */
export function mergeAttributes(
  a: ReadonlyMap<string, ValueType>,
  b: ReadonlyMap<string, ValueType>,
): Map<string, ValueType> | string {
  const merged = new Map(a);
  for (const [name, type] of b) {
    const both = mergeTypes(merged.get(name), type);
    if (both === undefined) return name;
    merged.set(name, both);
  }
  return merged;
}

export function toSchemaType(type: ValueType, required: boolean): Type<string> {
  switch (type.kind) {
    case 'Set':
      return { type: 'Set', element: toSchemaType(type.element ?? { kind: 'String' }, required) };
    case 'Entity':
    case 'Extension':
      return { type: type.kind, name: type.name };
    case 'Record':
      return { type: 'Record', attributes: toSchemaAttributes(type.attributes, required) };
    default:
      return { type: type.kind };
  }
}

export function toSchemaAttributes(attributes: ReadonlyMap<string, ValueType>, required: boolean) {
  return Object.fromEntries(
    [...attributes].map(([name, type]) => [name, { ...toSchemaType(type, required), required }]),
  );
}

/** Returns the type in the terms of a policy author. */
export function writeType(type: ValueType): string {
  if (type.kind === 'Set') return `Set<${type.element === undefined ? 'String' : writeType(type.element)}>`;
  if (type.kind === 'Boolean') return 'Bool';
  return 'name' in type ? type.name : type.kind;
}
