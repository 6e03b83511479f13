import type { Output } from './context.ts';

/** What a terminal acts on, and what turns the order of letters on it; a line break and a tab are meant as such. */
const ACTED_ON = /(?!\r\n)(?![\n\t])\p{Cc}|[\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu;
/** The same, but for colours: `ESC [ 3 2 m`. */
const ACTED_ON_BUT_COLOURS = new RegExp(`(?!\\u001B\\[[0-9;]{0,20}m)(?:${ACTED_ON.source})`, 'gu');

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Somebody else's text with nothing in it that a terminal would act on: it is written as `\u001b`. */
export const shownText = (text: string): string => text.replaceAll(ACTED_ON, escaped);

/** The same as one line: white space is one space. */
export const shownLine = (text: string): string => shownText(text.replaceAll(/\s+/g, ' ').trim());

/** An output on which no text that is printed makes a terminal act, whoever wrote it. */
export function shownOutput(stream: Output): Output {
  return {
    write: (text) => stream.write(shownText(text)),
    raw: (text) => stream.write(text),
    get isTTY() {
      return stream.isTTY;
    },
    get columns() {
      return stream.columns;
    },
  };
}

/** Writes a text as it is: movements of the cursor. */
export function writeRaw(out: Output, text: string): void {
  if (out.raw) out.raw(text);
  else out.write(text);
}

/** Writes a log: to a terminal with colours and nothing else that it acts on, elsewhere as it came. */
export function writeLog(out: Output, text: string): void {
  writeRaw(out, out.isTTY === true ? text.replaceAll(ACTED_ON_BUT_COLOURS, escaped) : text);
}
