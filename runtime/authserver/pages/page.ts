import { createHash } from 'node:crypto';
import { htmlAnswer, type Answer } from '../handler.ts';
import { html, markup, type Html, type Part } from './html.ts';
import { STYLE } from './style.ts';

export interface PageFrame {
  /** Host of the endpoint, which identifies the server to users. */
  readonly server: string;
}

export interface Page {
  readonly title: string;
  readonly main: Html;
  readonly footer?: Html;
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** `form-action` is left out, because browsers apply it to redirects after a form too. */
const HEADERS = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'`,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
} as const;

/** The policy contains the hash of exactly these bytes. */
const STYLE_ELEMENT = markup(`<style>${STYLE}</style>`);

const MARK = markup(
  '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round" aria-hidden="true">' +
    '<path d="M12 3 5 6v5.5c0 4.3 2.9 7.6 7 9.5 4.1-1.9 7-5.2 7-9.5V6z"/><path d="m9 12 2.2 2.2L15.3 10" stroke-linecap="round"/></svg>',
);

/** Renders every page: plain HTML without scripts, never framed, never stored. */
export function pageAnswer(
  { server }: PageFrame,
  { title, main, footer }: Page,
  { status = 200, headers = {} }: { readonly status?: number; readonly headers?: Answer['headers'] } = {},
): Answer {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} – ${server}</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <header>${MARK}<span>${server}</span></header>
        <main>${main}</main>
        ${footer && html`<footer>${footer}</footer>`}
      </body>
    </html> `;
  return htmlAnswer(page.markup, status, { ...HEADERS, ...headers });
}

export function postForm(action: string, hidden: Readonly<Record<string, string>>, content: Part): Html {
  const fields = Object.entries(hidden).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  return html`<form method="post" action="${action}">${fields}${content}</form>`;
}
