import { z } from 'zod';
import type { Kind } from '#operator/snapshot';

/** `file` is the path shown to users. */
export interface ManifestFile {
  file: string;
  text: string;
}

export const Problem = z.object({
  file: z.string(),
  /** Counted from 1. */
  line: z.int().min(1),
  /** Counted from 1; absent when unknown. */
  column: z.int().min(1).exactOptional(),
  /** E.g. `spec.incomingAuth.type`; empty for a whole document or file. */
  path: z.string(),
  /** Includes the remedy; never a secret value. */
  message: z.string(),
  /** The file cannot be parsed at all (broken YAML). */
  unreadable: z.boolean().exactOptional(),
});
export type Problem = z.infer<typeof Problem>;

/** Line and column are counted from 1. */
export interface Position {
  line: number;
  column: number;
}

export interface Source {
  file: string;
  /** Line of the document, counted from 1. */
  line: number;
  /** Returns undefined when the field is not written. */
  lineOf: (path: (string | number)[]) => number | undefined;
  /** Returns undefined when it cannot be determined. */
  positionOf?: ((path: (string | number)[], within: Position) => Position | undefined) | undefined;
}

interface ReadMetadata {
  name: string;
  namespace?: string;
  creationTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** A reconciled kind (its `spec` as written, valid or not), or a Secret or ConfigMap that resources reference. */
export type Resource =
  | (Source & { kind: Kind; apiVersion: string; metadata: ReadMetadata; spec?: unknown })
  /** `values` combines `stringData` and decoded `data`. `binaryKeys`: keys whose values are not text in UTF-8. */
  | (Source & { kind: 'Secret'; metadata: ReadMetadata; values: Record<string, string>; binaryKeys: string[] })
  | (Source & { kind: 'ConfigMap'; metadata: ReadMetadata; data: Record<string, string> });
