import type { Answer } from '../handler.ts';
import { html } from './html.ts';
import { pageAnswer, type PageFrame } from './page.ts';

/** Answers a browser that repeats the last step of a login after the client has used its code. */
export function finishedPage(frame: PageFrame): Answer {
  const main = html`<h1>This sign-in is finished</h1>
    <p>Your application has its answer. You can close this page and go back to it.</p>
    <p class="soft">If it is not signed in, start again from there.</p>`;
  return pageAnswer(frame, { title: 'Finished', main });
}
