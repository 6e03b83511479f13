import type { Page } from './page.ts';
import type { HttpClient } from '../fetching/http-client.ts';

export interface Reading {
  /** URL or absolute path. */
  source: string;
  /** The last reading of the same source. */
  former: readonly Page[];
  http: HttpClient;
  /** `Authorization` header, where one logs in. */
  authorization: string | undefined;
  signal: AbortSignal;
  /** Most weight of all that it lists. */
  longest: number;
}
