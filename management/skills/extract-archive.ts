import { Readable } from 'node:stream';
import { unusable } from './skill-limits.ts';
import { type Extraction, extractTar } from './extract-tar.ts';
import { extractZip } from './extract-zip.ts';

/** Accepts tar (gzip or not) and zip, and an empty folder. @throws Problem `bad_request` */
export async function extractArchive(archive: Buffer, folder: string, extraction: Extraction): Promise<void> {
  if (archive.length === 0) throw unusable('the archive is empty');
  if (archive.subarray(0, 4).toString('latin1') === 'PK\u0003\u0004') return extractZip(archive, folder, extraction);
  return extractTar(Readable.from([archive]), folder, extraction);
}
