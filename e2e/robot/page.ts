import { type Form, type Link, textIn } from '#cli/development-login/read-html';

/** Content of a browser tab, or the next URL. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly forms: readonly Form[];
  readonly links: readonly Link[];
  /** A redirect that was not followed, as the caller asked to stop before it. */
  readonly next: URL | undefined;
  /** All requested URLs up to this page, which is the last one. */
  readonly visited: readonly URL[];
}

/** Returns the visible text of the page. */
export function textOf({ text }: Page): string {
  return textIn(text);
}
