import { Problem } from '../problem.ts';

export const PRIVATE_OFF =
  'whoever runs the management API allows it none (--allow-private-addresses, chart value management.allowPrivateAddresses)';

/** The caller may not have access to the network of this process. @throws Problem `private_address_refused` */
export function checkPrivate(wanted: boolean, allowed: boolean): void {
  if (wanted && !allowed)
    throw new Problem('private_address_refused', `allow_private_ip: ${PRIVATE_OFF}; leave it out`);
}
