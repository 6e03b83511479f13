/** Events between a replica that received a subscription, and the one with the stream of its session. `watch`: a random id. */
export type WatchEvent =
  /** `session`: id of the backend session. */
  | { readonly type: 'watch'; readonly watch: string; readonly session: string; readonly uri: string }
  /** The replica with the stream asks the backend. */
  | { readonly type: 'watch_taken'; readonly watch: string }
  | { readonly type: 'watch_settled'; readonly watch: string; readonly isWatched: boolean };
