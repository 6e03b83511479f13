import { describe, expect, it } from '@jest/globals';
import { formsIn, linksIn, textIn } from './read-html.ts';

describe('formsIn, linksIn and textIn', () => {
  it('return the forms and links with their fields and buttons', () => {
    const html = `<!-- <form action="/no"></form> --><form method="post" action="/go?a=1&amp;b=2">
      <input type="hidden" name="ticket" value="a&quot;b"><input type=checkbox name=link value=x checked>
      <button name="decision" value='deny'>No</button></form><a href="/away"><b>Go</b> away</a>`;
    const url = new URL('http://127.0.0.1:5/here');
    const [forms, links] = [formsIn(html, url), linksIn(html, url)];
    expect(forms).toHaveLength(1);
    expect(forms[0]).toMatchObject({ method: 'POST', action: new URL('http://127.0.0.1:5/go?a=1&b=2') });
    expect(forms[0]?.fields).toEqual([
      { type: 'hidden', name: 'ticket', value: 'a"b', checked: false },
      { type: 'checkbox', name: 'link', value: 'x', checked: true },
    ]);
    expect(forms[0]?.buttons).toEqual([{ type: 'submit', name: 'decision', value: 'deny', checked: false }]);
    expect(links).toEqual([{ href: new URL('http://127.0.0.1:5/away'), text: 'Go away' }]);
  });

  it('return the visible text', () => {
    const html = '<head><title>T</title></head><h1>A&#32;&lt;b&gt;</h1>\n<p>c&nbsp;&#x2F; &unknown; &#x110000;</p>';
    expect(textIn(html)).toBe('A <b> c / &unknown; &#x110000;');
  });
});
