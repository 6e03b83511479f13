import type { PolicyResource } from '#runtime/policy/authorizer';
import type { RequestError } from '#runtime/errors';

export interface CatalogueEntry {
  /** For a resource, its URI; for a template, its URI template. */
  readonly name: string;
  readonly backend: string;
  readonly originalName: string;
  /** JSON text as clients receive it. */
  readonly text: string;
  readonly annotations: Readonly<Record<string, string | boolean>> | undefined;
  /** As its backend's own endpoint advertises it, for the backend's policies. Absent: both are the same. */
  readonly own?: PolicyResource | undefined;
  /** URIs of the tool's apps, as clients see them. Absent: it has none. */
  readonly apps?: readonly string[];
  /** Provider where the caller must log in first. With an empty `text`, the backend may have this name after the login. */
  readonly connects?: string;
  /** Why the gateway cannot ask the backend that may have this name. */
  readonly failure?: RequestError;
}
