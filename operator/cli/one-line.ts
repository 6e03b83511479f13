/** Somebody else's text as one line, without anything that a terminal would act on. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim();
}
