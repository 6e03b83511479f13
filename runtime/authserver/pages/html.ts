/** Text that is HTML already; made by `html` and `markup` alone. */
export interface Html {
  readonly markup: string;
}

/** What can be put in; `false` and `undefined` stand for nothing. */
export type Part = Html | string | number | false | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Control characters, what turns the direction of text, and what cannot be seen: names of strangers lie with them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** HTML with everything that is put in escaped. */
export function html(fixed: TemplateStringsArray, ...parts: Part[]): Html {
  return { markup: fixed.reduce((text, piece, index) => text + render(parts[index - 1]) + piece) };
}

/** Our own text, as HTML. */
export function markup(text: string): Html {
  return { markup: text };
}

function render(part: Part): string {
  if (part === undefined || part === false) return '';
  if (typeof part === 'object') return 'markup' in part ? part.markup : part.map(render).join('');
  return String(part)
    .replace(UNSEEN, '')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
