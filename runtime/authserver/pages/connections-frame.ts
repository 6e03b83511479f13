import type { PageFrame } from './page.ts';
import type { Answer } from '../handler.ts';

/** Values that all pages about connections need. */
export interface ConnectionsFrame extends PageFrame {
  /** The connections page: its forms go there; and where the form of a link URL goes. */
  readonly urls: { readonly connections: string; readonly link: string };
  readonly csrf: string;
  /** Another with each page: the forms of one page act once. */
  readonly form: string;
  readonly headers: Answer['headers'];
}
