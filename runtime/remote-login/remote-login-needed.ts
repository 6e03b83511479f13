import { RequestError } from '#runtime/errors';

/** Nobody who runs this has logged in at the remote server. No caller can help. */
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
