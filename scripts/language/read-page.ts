import type { Piece } from './read-source.ts';

const CODE = /^([ \t]*)(`{3,}|~{3,})[\s\S]*?^[ \t]*\2[ \t]*$/gm;
const BEGIN = /^([-*>]|#+|\d+\.)\s+/;

/** Reads the prose of a Markdown page: paragraphs, list items, table cells and headings. Code blocks are left out. */
export function readPage(text: string): Piece[] {
  const prose = text.replace(CODE, (code) => code.replace(/[^\n]/g, ''));
  const blocks: { line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, whole] of prose.split('\n').entries()) {
    const words = whole.trim();
    const cells = words.startsWith('|') ? words.split('|').filter((cell) => /[a-z]/i.test(cell)) : undefined;
    const last = blocks.at(-1);
    if (cells) blocks.push(...cells.map((cell) => ({ line: index + 1, text: cell.trim() })));
    else if (isOpen && last && words !== '' && !BEGIN.test(words)) last.text += ` ${words}`;
    else if (words !== '') blocks.push({ line: index + 1, text: words.replace(BEGIN, '') });
    isOpen = words !== '' && !cells && !words.startsWith('#');
  }
  return blocks.map(({ line, text: words }) => ({ line, text: words.replace(/\]\([^)]*\)/g, ']') }));
}
