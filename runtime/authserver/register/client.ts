/** A client, as it says it of itself. */
export interface Client {
  readonly client_id: string;
  readonly client_name: string | undefined;
  readonly redirect_uris: readonly string[];
  /** The scopes that it registered with: it is granted no others. Undefined: those that the server supports. */
  readonly scope?: string | undefined;
}
