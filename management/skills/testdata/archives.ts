import { buffer } from 'node:stream/consumers';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';

/** Path to text, or an entry of any kind. */
export type Entries = readonly (Partial<Header> & { name: string; text?: string | Buffer })[];

/** Returns a tar archive with these entries, including invalid ones. */
export async function tarOf(entries: Entries): Promise<Buffer> {
  const archive = pack();
  for (const { text = '', ...header } of entries) {
    // Links declare a size without content.
    if (header.type === undefined || header.type === 'file') archive.entry(header, text);
    else archive.entry({ ...header, size: 0 }, '');
  }
  archive.finalize();
  return buffer(archive);
}

export const tgzOf = async (entries: Entries): Promise<Buffer> => gzipSync(await tarOf(entries));

export interface ZipEntry {
  name: string;
  text?: string | Buffer;
  /** Unix mode with the file type; a plain file by default. */
  mode?: number;
  /** Size that the archive declares; by default the true one. */
  claimedSize?: number;
  isEncrypted?: boolean;
}

/** Returns a zip archive with these entries. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, text = '', mode = 0o100644, claimedSize, isEncrypted = false } of entries) {
    const content = Buffer.from(text);
    const packed = deflateRawSync(content);
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(isEncrypted ? 0x801 : 0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimedSize ?? content.length, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, path, packed]);
    const after = Buffer.alloc(14);
    after.writeUInt32LE((mode << 16) >>> 0, 6);
    after.writeUInt32LE(offset, 10);
    const madeBy = Buffer.from([20, 3]);
    central.push(Buffer.concat([Buffer.from('PK\u0001\u0002', 'latin1'), madeBy, common, after, path]));
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, directory, Buffer.from('PK\u0005\u0006', 'latin1'), end]);
}
