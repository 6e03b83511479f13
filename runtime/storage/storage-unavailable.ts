/** The storage did not answer, or not in time: nothing is known. It becomes 503, never an answer that says no. */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}
