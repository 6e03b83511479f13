import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { type Entry, fromBuffer, type Options, type ZipFile } from 'yauzl';
import { LIMITS, Space, unusable } from './skill-limits.ts';
import { type Extraction, extractTar } from './extract-tar.ts';
import { unpackingFailed } from './unpacking-failed.ts';
import { FileWriter } from './write-files.ts';

/** Accepts tar (gzip or not) and zip, and an empty folder. @throws Problem `bad_request` */
export async function extractArchive(archive: Buffer, folder: string, extraction: Extraction): Promise<void> {
  if (archive.length === 0) throw unusable('the archive is empty');
  if (archive.subarray(0, 4).toString('latin1') === 'PK\u0003\u0004') return extractZip(archive, folder, extraction);
  return extractTar(Readable.from([archive]), folder, extraction);
}

/** File type in the upper half of the attributes that Unix programs write (stat(2)). */
const KIND = 0o170000;
const FILE = 0o100000;
const FOLDER = 0o040000;

const open = promisify((bytes: Buffer, options: Options, done: (error: Error | null, file: ZipFile) => void) =>
  fromBuffer(bytes, options, done),
);

/** Works as `extractTar`. @throws Problem `bad_request` */
async function extractZip(archive: Buffer, folder: string, { signal, space = new Space() }: Extraction): Promise<void> {
  const writer = new FileWriter(folder, space);
  try {
    // vmcp checks the names itself, because the same rules apply to all archives.
    const file = await open(archive, {
      lazyEntries: true,
      autoClose: false,
      decodeStrings: true,
      strictFileNames: true,
    });
    if (file.entryCount === 0) throw unusable('the archive is empty');
    if (file.entryCount > LIMITS.files) throw unusable(`the skill has more than ${LIMITS.files} files and folders`);
    for await (const entry of entriesOf(file)) {
      signal.throwIfAborted();
      if (entry.uncompressedSize > space.left) throw space.exceeded();
      await writeEntry(file, entry, writer);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw unpackingFailed(error);
  }
}

async function writeEntry(file: ZipFile, entry: Entry, writer: FileWriter): Promise<void> {
  const name = entry.fileName;
  const mode = entry.externalFileAttributes >>> 16;
  const kind = mode & KIND;
  const isFolder = name.endsWith('/');
  if (kind !== 0 && kind !== (isFolder ? FOLDER : FILE))
    throw unusable(`${JSON.stringify(name)} is no plain file: a skill has files and folders alone`);
  if (entry.isEncrypted()) throw unusable(`${JSON.stringify(name)} is encrypted`);
  if (isFolder) return writer.addFolder(name);
  const content = await new Promise<Readable>((resolve, reject) => {
    file.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });
  // The stream may emit a second error.
  content.on('error', () => undefined);
  return writer.addFile(name, content, (mode & 0o111) !== 0);
}

async function* entriesOf(file: ZipFile): AsyncGenerator<Entry> {
  for (;;) {
    const entry = await new Promise<Entry | undefined>((resolve, reject) => {
      file
        .once('entry', resolve)
        .once('end', () => resolve(undefined))
        .once('error', reject);
      file.readEntry();
    });
    file.removeAllListeners();
    if (entry === undefined) return;
    yield entry;
  }
}
