/** Returns the number of letters to change, add, remove or swap with a neighbour between two words. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(above, j) + 1,
          at(row, j - 1) + 1,
          at(above, j - 1) + (same ? 0 : 1),
          swapped ? at(before, j - 2) + 1 : Infinity,
        ),
      );
    }
    before = above;
    above = row;
  }
  return at(above, b.length);
}

const at = (row: number[], index: number) => row[index] ?? Infinity;

/** Characters. Longer words are no typing errors and are not compared. */
const LONGEST = 64;

/** Returns the known word that was most likely intended; undefined if none is similar. Ignores case, `_` and `-`. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > LONGEST) return undefined;
  const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, '');
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(plain(word), plain(candidate));
    if (best === undefined || distance < best.distance) best = { word: candidate, distance };
  }
  const allowed = Math.max(1, Math.floor(word.length / 3));
  return best !== undefined && best.distance <= allowed ? best.word : undefined;
}
