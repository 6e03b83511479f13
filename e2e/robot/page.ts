import { type Form, type Link, textIn } from '#cli/development-login/read-html';

/** What a tab of the browser shows, or where it would go next. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly forms: readonly Form[];
  readonly links: readonly Link[];
  /** A redirect that was not followed, as it was to be stopped before. */
  readonly next: URL | undefined;
  /** All URLs that were requested to come here, this one last. */
  readonly trail: readonly URL[];
}

/** What a person reads on it. */
export function textOf({ text }: Page): string {
  return textIn(text);
}
