import type { Page } from './page.ts';
import type { HttpClient } from '../fetching/http-client.ts';

export interface Reading {
  /** URL or absolute path. */
  source: string;
  /** Pages of the previous read of the same source. */
  former: readonly Page[];
  http: HttpClient;
  /** `Authorization` header, if the source has a login. */
  authorization: string | undefined;
  signal: AbortSignal;
  /** Maximum weight of the whole content. */
  longest: number;
}
