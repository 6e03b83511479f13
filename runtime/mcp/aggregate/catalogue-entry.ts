import type { PolicyResource } from '#runtime/policy/authorizer';
import type { RequestError } from '#runtime/errors';

/** One advertised tool, prompt, resource or template. */
export interface CatalogueEntry {
  /** Advertised name; the URI of a resource, the URI template of a template. */
  readonly name: string;
  readonly backend: string;
  readonly originalName: string;
  /** JSON text as it is advertised. */
  readonly text: string;
  readonly annotations: Readonly<Record<string, string | boolean>> | undefined;
  /** The entry as its backend's own endpoint advertises it, for the backend's own policies. Absent: no difference. */
  readonly own?: PolicyResource | undefined;
  /**
   * The provider at which its caller has to log in first. It is a tool of the gateway's own that leads there; or, where `text` is
   * empty, any name that a backend may have which waits for that.
   */
  readonly connects?: string;
  /** Why its backend, which may have such a name, cannot be asked for it. */
  readonly failure?: RequestError;
}
