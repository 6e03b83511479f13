/** Text that is HTML already. Only `html` and `markup` create it. */
export interface Html {
  readonly markup: string;
}

/** Value that a template accepts. `false` and `undefined` render as nothing. */
export type Part = Html | string | number | false | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Control characters, bidirectional controls and invisible characters, which can disguise names. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Builds HTML and escapes the inserted values. */
export function html(fixed: TemplateStringsArray, ...parts: Part[]): Html {
  return { markup: fixed.reduce((text, piece, index) => text + render(parts[index - 1]) + piece) };
}

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
