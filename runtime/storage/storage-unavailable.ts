/** The storage did not answer in time, so the result is unknown. The answer is 503, never a denial. */
export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}
