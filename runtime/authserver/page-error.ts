/** Content of an error page. The text is fixed: never input, tokens, or a provider's text. */
export interface ErrorPage {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

/** Error of an endpoint that browsers open. The private reason is the `cause`. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly page: ErrorPage;
  constructor(page: ErrorPage, options?: ErrorOptions) {
    super(page.text, options);
    this.page = page;
  }
}
