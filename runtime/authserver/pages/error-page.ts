import type { Answer } from '../handler.ts';
import type { ErrorPage } from '../page-error.ts';
import { html } from './html.ts';
import { pageAnswer, type PageFrame } from './page.ts';

export function createErrorPages(frame: PageFrame): (page: ErrorPage) => Answer {
  return ({ status, title, text }) => {
    const main = html`<h1>${title}</h1>
      <p>${text}</p>
      <p class="soft">If it happens again, tell the person who runs ${frame.server} the words above.</p>`;
    return pageAnswer(frame, { title, main }, { status });
  };
}
