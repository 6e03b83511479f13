import type { Page } from './page.ts';
import type { HttpClient } from '../fetching/http-client.ts';

export interface Reading {
  /** URL or absolute path. */
  source: string;
  former: readonly Page[];
  http: HttpClient;
  authorization: string | undefined;
  signal: AbortSignal;
  longest: number;
}
