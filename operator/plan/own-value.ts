/** What a record has under a name that anybody chose: `constructor` and `toString` are names, and every object has these. */
export function ownValue<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
