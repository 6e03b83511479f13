import type { PolicyResource } from '#runtime/policy/authorizer';
import type { RequestError } from '#runtime/errors';

/** An advertised tool, prompt, resource or template. */
export interface CatalogueEntry {
  /** Advertised name. For a resource, its URI; for a template, its URI template. */
  readonly name: string;
  readonly backend: string;
  readonly originalName: string;
  /** JSON text as clients receive it. */
  readonly text: string;
  readonly annotations: Readonly<Record<string, string | boolean>> | undefined;
  /**
   * The entry as its backend's own endpoint advertises it, for the backend's own policies. Absent: both are the same.
   */
  readonly own?: PolicyResource | undefined;
  /**
   * The provider where the caller must log in first. The entry is a connect tool of the gateway. If `text` is empty,
   * the entry is a name that a backend may have after the login.
   */
  readonly connects?: string;
  /** Explains why the gateway cannot ask the backend that may have this name. */
  readonly failure?: RequestError;
}
