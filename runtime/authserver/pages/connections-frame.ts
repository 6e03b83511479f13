import type { PageFrame } from './page.ts';
import type { Answer } from '../handler.ts';

/** Settings that all connections pages share. */
export interface ConnectionsFrame extends PageFrame {
  /** Targets of the forms: of the connections page, and of the page of a link URL. */
  readonly urls: { readonly connections: string; readonly link: string };
  readonly csrf: string;
  /** New for each page, so that a repeated form acts once. */
  readonly form: string;
  readonly headers: Answer['headers'];
}
