import type { RecordStore } from '../stores/record-store.ts';

/** Returns a store whose methods can be replaced one by one. */
export const unboundStore = (store: RecordStore): RecordStore => ({
  list: () => store.list(),
  names: () => store.names(),
  get: (name) => store.get(name),
  create: (name, value) => store.create(name, value),
  replace: (name, value, version) => store.replace(name, value, version),
  delete: (name, version) => store.delete(name, version),
});
