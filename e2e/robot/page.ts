/** One thing of a form that a person can fill or press. */
export interface Field {
  readonly type: string;
  readonly name: string;
  readonly value: string;
  readonly checked: boolean;
}

export interface Form {
  readonly action: URL;
  readonly method: 'GET' | 'POST';
  /** Inputs without buttons. */
  readonly fields: readonly Field[];
  readonly buttons: readonly Field[];
}

export interface Link {
  readonly href: URL;
  readonly text: string;
}

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

/** The forms and links of an HTML page, as far as plain pages without scripts need it. */
export function readHtml(html: string, url: URL): Pick<Page, 'forms' | 'links'> {
  const text = html.replaceAll(/<!--[\s\S]*?-->/g, '');
  const forms = [...text.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)].map(([, attributes = '', body = '']) =>
    readForm(readAttributes(attributes), body, url),
  );
  const links = [...text.matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a>/gi)].flatMap(([, attributes = '', body = '']) => {
    const href = readAttributes(attributes).get('href');
    return href === undefined ? [] : [{ href: new URL(href, url), text: plain(body) }];
  });
  return { forms, links };
}

function readForm(attributes: ReadonlyMap<string, string>, body: string, url: URL): Form {
  const inputs = [...body.matchAll(/<input\b([^>]*)>/gi)].map(([, text = '']) =>
    readField(readAttributes(text), 'text'),
  );
  const pressed = [...body.matchAll(/<button\b([^>]*)>/gi)].map(([, text = '']) =>
    readField(readAttributes(text), 'submit'),
  );
  return {
    action: new URL(attributes.get('action') ?? '', url),
    method: attributes.get('method')?.toLowerCase() === 'post' ? 'POST' : 'GET',
    fields: inputs.filter(({ type }) => type !== 'submit'),
    buttons: [...inputs, ...pressed].filter(({ type }) => type === 'submit'),
  };
}

function readField(attributes: ReadonlyMap<string, string>, type: string): Field {
  const kind = attributes.get('type')?.toLowerCase() ?? type;
  return {
    type: kind,
    name: attributes.get('name') ?? '',
    value: attributes.get('value') ?? (kind === 'checkbox' ? 'on' : ''),
    checked: attributes.has('checked'),
  };
}

function readAttributes(text: string): Map<string, string> {
  const pattern = /([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
  return new Map(
    [...text.matchAll(pattern)].map(([, name = '', double, single, bare]) => [
      name.toLowerCase(),
      unescape(double ?? single ?? bare ?? ''),
    ]),
  );
}

/** What a person reads on it. */
export function textOf({ text }: Page): string {
  return plain(text.replaceAll(/<(head|style|script)\b[\s\S]*?<\/\1>/gi, '')).replaceAll(/\s+/g, ' ');
}

const plain = (html: string) => unescape(html.replaceAll(/<[^>]*>/g, '')).trim();

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

function unescape(text: string): string {
  return text.replaceAll(/&(#x[0-9a-f]+|#\d+|[a-z]+);/gi, (whole, word: string) => {
    if (word.startsWith('#x')) return String.fromCodePoint(Number.parseInt(word.slice(2), 16));
    if (word.startsWith('#')) return String.fromCodePoint(Number(word.slice(1)));
    return NAMED[word.toLowerCase()] ?? whole;
  });
}
