import { isUtf8 } from 'node:buffer';

const NOTHING = Buffer.alloc(0);
const LONGEST = 4;

/** A character on a border goes with the later piece. */
export class Utf8Pieces {
  #rest: Buffer = NOTHING;

  push(bytes: Buffer): Buffer {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const end = all.length - begunAtEnd(all);
    this.#rest = all.subarray(end);
    const whole = all.subarray(0, end);
    return isUtf8(whole) ? whole : Buffer.from(whole.toString('utf8'));
  }
}

function begunAtEnd(bytes: Buffer): number {
  for (let back = 1; back < LONGEST && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : LONGEST;
    return length > back ? back : 0;
  }
  return 0;
}
