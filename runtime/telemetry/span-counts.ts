/** What became of spans; counted up in place. */
export interface SpanCounts {
  exported: number;
  /** There was no room for them, or the collector did not take them. */
  dropped: number;
}
