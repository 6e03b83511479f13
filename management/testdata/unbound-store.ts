import type { RecordStore } from '../stores/record-store.ts';

/** A store whose calls can be exchanged one by one. */
export const unboundStore = (store: RecordStore): RecordStore => ({
  list: () => store.list(),
  names: () => store.names(),
  get: (name) => store.get(name),
  create: (name, value) => store.create(name, value),
  replace: (name, value, version) => store.replace(name, value, version),
  delete: (name, version) => store.delete(name, version),
});
