import type { Output } from './context.ts';

/** Control characters and bidirectional marks, except line breaks and tabs. */
const ACTED_ON = /(?!\r\n)(?![\n\t])\p{Cc}|[\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu;
/** The same, except colours: `ESC [ 3 2 m`. */
const ACTED_ON_BUT_COLOURS = new RegExp(`(?!\\u001B\\[[0-9;]{0,20}m)(?:${ACTED_ON.source})`, 'gu');

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes untrusted text for a terminal: control characters become `\u001b`. */
export const shownText = (text: string): string => text.replaceAll(ACTED_ON, escaped);

/** Like `shownText`, on one line with single spaces. */
export const shownLine = (text: string): string => shownText(text.replaceAll(/\s+/g, ' ').trim());

/** Escapes printed text, so that it cannot control the terminal. */
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

export function writeRaw(out: Output, text: string): void {
  if (out.raw) out.raw(text);
  else out.write(text);
}

/** Keeps colours on a terminal; changes nothing elsewhere. */
export function writeLog(out: Output, text: string): void {
  writeRaw(out, out.isTTY === true ? text.replaceAll(ACTED_ON_BUT_COLOURS, escaped) : text);
}
