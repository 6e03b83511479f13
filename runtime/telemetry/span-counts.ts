export interface SpanCounts {
  exported: number;
  /** Spans that exceeded the queue, or that the collector refused. */
  dropped: number;
}
