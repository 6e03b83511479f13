import { RequestError } from '#runtime/errors';

/** An administrator must log in at the remote server. The caller cannot do so. */
export class RemoteLoginNeeded extends RequestError {
  constructor(backend: string, options?: ErrorOptions) {
    super(
      {
        status: 200,
        code: 'backend_login_needed',
        text: `backend ${backend} needs a login at its server by who runs this gateway`,
        rpc: { code: -32603, data: { backend, reason: 'login_needed' } },
      },
      options,
    );
  }
}
