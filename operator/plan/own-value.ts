/** Returns the own property of a record. Users may choose names such as `constructor` and `toString`, which every object inherits. */
export function ownValue<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
