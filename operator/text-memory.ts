/** Returns the bytes of a text in the heap. V8 stores all characters in two bytes if one of them is beyond Latin-1. */
export function memoryOf(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length;
}
