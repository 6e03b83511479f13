import { z } from 'zod';
import type { Kind } from '#operator/world';

/** A file as it was read; `file` is the path as it is to be shown. */
export interface ManifestFile {
  file: string;
  text: string;
}

/** Something wrong in a file. */
export const Problem = z.object({
  file: z.string(),
  /** Counted from 1. */
  line: z.int().min(1),
  /** Counted from 1, where it is known. */
  column: z.int().min(1).exactOptional(),
  /** Field, e.g. `spec.incomingAuth.type`; empty for a whole document or file. */
  path: z.string(),
  /** What is wrong and what to do. Never holds a secret value. */
  message: z.string(),
  /** The file could not be understood as resources at all (broken YAML), not merely a field of one. */
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
  /** Line of a field; undefined for what is not written. */
  lineOf: (path: (string | number)[]) => number | undefined;
  /** Where a position of a field's text stands in the file; undefined where that cannot be told. */
  positionOf?: ((path: (string | number)[], within: Position) => Position | undefined) | undefined;
}

interface ReadMetadata {
  name: string;
  namespace?: string;
  creationTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** One document of a file: a kind that is reconciled (its `spec` as written, valid or not), or what others name. */
export type Resource =
  | (Source & { kind: Kind; apiVersion: string; metadata: ReadMetadata; spec?: unknown })
  /** `values`: `stringData` and decoded `data` in one. */
  | (Source & { kind: 'Secret'; metadata: ReadMetadata; values: Record<string, string> })
  | (Source & { kind: 'ConfigMap'; metadata: ReadMetadata; data: Record<string, string> });
