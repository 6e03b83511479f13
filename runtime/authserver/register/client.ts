export interface Client {
  readonly client_id: string;
  readonly client_name: string | undefined;
  readonly redirect_uris: readonly string[];
  /** Scopes of the registration, which limit its grants. Undefined: all scopes that the server supports. */
  readonly scope?: string | undefined;
  /** The administrator vouches for the name. Absent: false. */
  readonly isVerified?: boolean;
  /** `implicit`: users are not asked. Absent: `required`. */
  readonly consent?: 'required' | 'implicit';
}
