import type { PageFrame } from './page.ts';
import type { Answer } from '../handler.ts';

export interface ConnectionsFrame extends PageFrame {
  readonly urls: { readonly connections: string; readonly link: string };
  readonly csrf: string;
  /** New for each page, so that a repeated form acts once. */
  readonly form: string;
  readonly headers: Answer['headers'];
}
