import { redactText } from '#runtime/telemetry/redact';

const MAX_TEXT = 1024;
const REMEMBERED_TEXT = 128;
const REMEMBERED = 4096;

export type Quote = (text: string) => string;

/** Returns a Quote with a bounded cache: most events contain the same few names. */
export function createQuote(): Quote {
  const remembered = new Map<string, string>();
  return (text) => {
    const known = remembered.get(text);
    if (known !== undefined) return known;
    const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
    const quoted = JSON.stringify(redactText(cut));
    if (text.length > REMEMBERED_TEXT) return quoted;
    if (remembered.size >= REMEMBERED) remembered.clear();
    remembered.set(text, quoted);
    return quoted;
  };
}
