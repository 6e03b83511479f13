export interface Field {
  readonly name: string;
  readonly value: string;
  readonly type: string;
  readonly checked: boolean;
}

export interface Form {
  readonly action: URL;
  readonly method: 'GET' | 'POST';
  readonly fields: readonly Field[];
  readonly buttons: readonly Field[];
  readonly text: string;
}

export interface Link {
  readonly href: URL;
  readonly text: string;
}

/** Reads pages without scripts; `url` is the URL of the page. */
export function formsIn(html: string, url: URL): Form[] {
  return [...withoutComments(html).matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)].map(([, tag = '', body = '']) => {
    const attributes = attributesOf(tag);
    const inputs = fieldsIn(body, /<input\b([^>]*)>/gi, 'text');
    const buttons = fieldsIn(body, /<button\b([^>]*)>/gi, 'submit');
    return {
      action: new URL(attributes.get('action') ?? '', url),
      method: attributes.get('method')?.toLowerCase() === 'post' ? 'POST' : 'GET',
      fields: inputs.filter(({ type }) => type !== 'submit'),
      buttons: [...inputs, ...buttons].filter(({ type }) => type === 'submit'),
      text: textIn(body),
    };
  });
}

export function linksIn(html: string, url: URL): Link[] {
  return [...withoutComments(html).matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a>/gi)].flatMap(([, tag = '', body = '']) => {
    const href = attributesOf(tag).get('href');
    return href === undefined ? [] : [{ href: new URL(href, url), text: textIn(body) }];
  });
}

export function textIn(html: string): string {
  const shown = html.replaceAll(/<(head|style|script)\b[\s\S]*?<\/\1>/gi, ' ').replaceAll(/<[^>]*>/g, ' ');
  return unescapeHtml(shown).replaceAll(/\s+/g, ' ').trim();
}

const withoutComments = (html: string) => html.replaceAll(/<!--[\s\S]*?-->/g, '');

function fieldsIn(html: string, pattern: RegExp, usualType: string): Field[] {
  return [...html.matchAll(pattern)].map(([, tag = '']) => {
    const attributes = attributesOf(tag);
    const type = attributes.get('type')?.toLowerCase() ?? usualType;
    const value = attributes.get('value') ?? (type === 'checkbox' ? 'on' : '');
    return { name: attributes.get('name') ?? '', value, type, checked: attributes.has('checked') };
  });
}

function attributesOf(tag: string): ReadonlyMap<string, string> {
  const found = tag.matchAll(/([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g);
  return new Map(
    [...found].map(([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      unescapeHtml(double ?? single ?? bare ?? ''),
    ]),
  );
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

function unescapeHtml(text: string): string {
  return text.replaceAll(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (whole, word: string) => {
    if (!word.startsWith('#')) return NAMED[word.toLowerCase()] ?? whole;
    const point = Number(/^#x/i.test(word) ? `0x${word.slice(2)}` : word.slice(1));
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
