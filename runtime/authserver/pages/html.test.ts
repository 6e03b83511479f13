import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { html, markup } from './html.ts';

describe('html', () => {
  it('escapes inserted text in content and attributes', () => {
    const text = `<b>&"'`;
    expect(html`<a title="${text}">${text}</a>`.markup).toBe(
      '<a title="&lt;b&gt;&amp;&quot;&#39;">&lt;b&gt;&amp;&quot;&#39;</a>',
    );
  });

  it('renders HTML, lists and empty values unchanged', () => {
    expect(html`${html`<i>${'<'}</i>`}${[html`<b></b>`, 'x', 1]}${undefined}${false}${markup('<hr>')}`.markup).toBe(
      '<i>&lt;</i><b></b>x1<hr>',
    );
  });

  it.each([
    '\u0000',
    '\u001B',
    '\u0085',
    '\u061C',
    '\u200B',
    '\u200E',
    '\u200F',
    '\u202A',
    '\u202E',
    '\u2028',
    '\u2066',
    '\u2069',
    '\uFEFF',
    '\u{E0041}',
    '\u{E0100}',
    '\u3164',
  ])('strips %j', (character) => {
    expect(html`${`a${character}b`}`.markup).toBe('ab');
  });

  it('keeps letters of all scripts, and characters beyond the first plane', () => {
    expect(html`${'Ünïcode مرحبا 你好 👍'}`.markup).toBe('Ünïcode مرحبا 你好 👍');
  });

  it('never lets inserted text open a tag or leave an attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(html`${text}`.markup).not.toMatch(/[<>"']/);
      }),
    );
  });
});
