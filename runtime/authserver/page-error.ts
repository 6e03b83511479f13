/** What a page of people says when it cannot go on. Fixed text: never input, tokens, or what a provider said. */
export interface ErrorPage {
  readonly status: number;
  readonly title: string;
  /** What happened, and what to do now. */
  readonly text: string;
}

/** Thrown by endpoints that browsers open; the private reason is the `cause`. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly page: ErrorPage;
  constructor(page: ErrorPage, options?: ErrorOptions) {
    super(page.text, options);
    this.page = page;
  }
}
