import { z } from 'zod';
import type { Kind } from '#operator/snapshot';

/** A file and its text; `file` is the path shown to users. */
export interface ManifestFile {
  file: string;
  text: string;
}

/** A problem in a file. */
export const Problem = z.object({
  file: z.string(),
  /** Counted from 1. */
  line: z.int().min(1),
  /** Counted from 1; absent when it is not known. */
  column: z.int().min(1).exactOptional(),
  /** Field, e.g. `spec.incomingAuth.type`; empty for a whole document or file. */
  path: z.string(),
  /** The problem and its remedy. Never contains a secret value. */
  message: z.string(),
  /** Set when the file cannot be parsed at all (broken YAML), as opposed to one invalid field. */
  unreadable: z.boolean().exactOptional(),
});
export type Problem = z.infer<typeof Problem>;

/** Line and column, both counted from 1. */
export interface Position {
  line: number;
  column: number;
}

export interface Source {
  file: string;
  /** First line of the document, counted from 1. */
  line: number;
  /** Returns the line of a field; undefined when the field is not written. */
  lineOf: (path: (string | number)[]) => number | undefined;
  /** Returns the file position for a position in a field's text; undefined when it cannot be determined. */
  positionOf?: ((path: (string | number)[], within: Position) => Position | undefined) | undefined;
}

interface ReadMetadata {
  name: string;
  namespace?: string;
  creationTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** One document of a file: a reconciled kind (its `spec` as written, valid or not), or a Secret or ConfigMap that resources reference. */
export type Resource =
  | (Source & { kind: Kind; apiVersion: string; metadata: ReadMetadata; spec?: unknown })
  /** `values` combines `stringData` and decoded `data`. `binaryKeys`: keys whose values are not text in UTF-8. */
  | (Source & { kind: 'Secret'; metadata: ReadMetadata; values: Record<string, string>; binaryKeys: string[] })
  | (Source & { kind: 'ConfigMap'; metadata: ReadMetadata; data: Record<string, string> });
